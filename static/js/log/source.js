/** Asks the server for parts of a log; one answer at a time, with words for what went wrong. */

/** The server answered, and asking the same again does not help. */
export class Refused extends Error {
  /** @param {string} message @param {number} status */
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export class LogSource {
  /** @param {string} url @param {string} attempt @param {string} pod */
  constructor(url, attempt, pod) {
    this.url = url;
    this.base = { attempt, ...(pod ? { pod } : {}) };
  }

  /** Address of this log with more parameters. @param {Object<string, string>} [more] */
  address(more = {}) {
    return `${this.url}?${new URLSearchParams({ ...this.base, ...more })}`;
  }

  /**
   * The answer, or null when there is nothing new.
   * @param {Object<string, string>} more @param {AbortSignal} [signal]
   */
  async ask(more, signal) {
    const answer = await fetch(this.address(more), { signal, headers: { Accept: "application/json" } });
    if (answer.redirected) throw new Refused("You have been signed out. Load the page again.", 401);
    if (answer.status === 204) return null;
    if (answer.status >= 500) throw new Error(String(answer.status));
    if (!answer.ok) throw new Refused(await words(answer), answer.status);
    return answer.json();
  }
}

/** @param {Response} answer */
const words = async (answer) => {
  if (answer.status === 404) return "This log no longer exists.";
  if (answer.status === 403) return "You no longer have access to this log.";
  try {
    return (await answer.json()).message;
  } catch {
    return "The log could not be read.";
  }
};
