/* Relative times grow once a minute, running durations by seconds at first; not while live updates are paused. */
const MINUTE_MS = 60_000;

/** The same words as gangline.web.formats.relative, within a day. @param {number} ms */
const words = (ms) => {
  const minutes = Math.floor(ms / MINUTE_MS);
  if (minutes < 1) return "just now";
  return minutes < 60 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
};

setInterval(() => {
  if (document.hidden || document.querySelector('[data-live][data-state="paused"]')) return;
  for (const time of document.querySelectorAll("time[data-relative]")) {
    const age = Date.now() - Date.parse(time.getAttribute("datetime") ?? "");
    if (!(age >= 0 && age < 24 * 60 * MINUTE_MS)) continue;
    const text = words(age);
    if (time.textContent !== text) time.textContent = text;
  }
}, MINUTE_MS);

setInterval(() => {
  if (document.hidden || document.querySelector('[data-live][data-state="paused"]')) return;
  for (const place of document.querySelectorAll("[data-running]")) {
    const age = Date.now() - Date.parse(place.getAttribute("data-running") ?? "");
    const minutes = Math.floor(age / MINUTE_MS);
    if (!(age >= 0 && minutes < 24 * 60)) continue;
    const rest = String(minutes % 60).padStart(2, "0");
    let text = minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${rest} min`;
    if (minutes < 1) text = `${Math.floor(age / 1000)} s`;
    if (place.textContent !== text) place.textContent = text;
  }
}, 1000);
