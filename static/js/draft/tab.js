/*
 * The name of this tab: the same after a reload, and no two tabs share it. A duplicated tab begins
 * with the storage of the first one; the lock tells that the name is in use.
 */
const KEY = "gangline-tab";

const fresh = () => {
  const name = crypto.getRandomValues(new Uint32Array(2)).join("-");
  sessionStorage.setItem(KEY, name);
  return name;
};

let name = sessionStorage.getItem(KEY) ?? fresh();

const claim = () =>
  navigator.locks?.request(`${KEY}-${name}`, { ifAvailable: true }, (lock) => {
    if (lock) return new Promise(() => {});
    name = fresh();
    setTimeout(claim);
    return undefined;
  });
claim();

export const tab = () => name;
