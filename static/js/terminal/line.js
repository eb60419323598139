/* The socket of one terminal: opens it, comes back after a loss, and says how it ended. */
const STDIN = 0;
const RETRY = 1000;
const PATIENCE = 30_000;
const ELSEWHERE = 4010;
const PIECE = 30_000;
const LOST = "The connection is lost. Trying again…";

/** @param {string} workload @param {string} pod */
const place = (workload, pod) => `terminal:${workload}:${pod}`;

const token = () => /** @type {HTMLInputElement} */ (document.querySelector("[name=csrfmiddlewaretoken]")).value;

export class Line {
  /**
   * @param {string} workload @param {string} pod
   * @param {{columns: number, rows: number}} size
   * @param {{output: (data: Uint8Array, done: () => void) => void, say: (text: string, isOver: boolean) => void}} told
   */
  constructor(workload, pod, size, told) {
    this.workload = workload;
    this.pod = pod;
    this.size = size;
    this.told = told;
    /** @type {WebSocket | null} */
    this.socket = null;
    this.received = 0;
    this.lostAt = 0;
    this.isOver = false;
    this.isOpen = false;
    this.ahead = "";
    this.connect();
  }

  /** What this window knows of the terminal, if it had it before. @returns {{id: string, key: string} | null} */
  get known() {
    return JSON.parse(sessionStorage.getItem(place(this.workload, this.pod)) ?? "null");
  }

  async connect() {
    const known = this.known;
    let first = { type: "resume", ...known, received: this.received };
    if (!known) {
      const ticket = await this.ticket();
      if (!ticket) return;
      first = { type: "open", ticket };
    }
    if (this.isOver) return;
    this.told.say(this.lostAt ? LOST : "Connecting…", false);
    const socket = new WebSocket(`${location.protocol.replace("http", "ws")}//${location.host}/terminals`);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => socket.send(JSON.stringify({ ...first, ...this.size, acks: true }));
    socket.onmessage = (event) => this.heard(event.data);
    socket.onclose = (event) => this.closed(event.code);
    this.socket = socket;
  }

  async ticket() {
    try {
      const answer = await fetch(`/api/v1/workloads/${this.workload}/pods/${this.pod}/exec`, {
        method: "POST", headers: { "Content-Type": "application/json", "X-CSRFToken": token() }, body: "{}",
      });
      const body = await answer.json();
      if (answer.ok) return body.ticket;
      this.end(body.details || body.message);
    } catch {
      this.end("Gangline does not answer.");
    }
    return "";
  }

  /** @param {string | ArrayBuffer} data */
  heard(data) {
    if (data instanceof ArrayBuffer) {
      const bytes = new Uint8Array(data, 1);
      this.received += bytes.length;
      const upto = this.received;
      this.told.output(bytes, () => this.say({ type: "ack", offset: upto }));
      return;
    }
    const message = JSON.parse(data);
    if (message.type === "opened") {
      sessionStorage.setItem(place(this.workload, this.pod), JSON.stringify({ id: message.id, key: message.key }));
      this.received = message.offset;
      this.lostAt = 0;
      this.told.say("", false);
      this.isOpen = true;
      const ahead = this.ahead;
      this.ahead = "";
      if (ahead) this.type(ahead);
    } else if (message.type === "exit") this.end(message.reason);
    else if (message.type === "refused") {
      // One that is not there any more is of a page from before: this page begins anew, once.
      const wasLoaded = this.known && !this.received && !this.lostAt;
      sessionStorage.removeItem(place(this.workload, this.pod));
      if (wasLoaded) this.begins = true;
      else this.end(message.message);
    }
  }

  /** @param {number} code */
  closed(code) {
    this.isOpen = false;
    if (this.isOver) return;
    if (this.begins && code === ELSEWHERE) {
      this.begins = false;
      this.connect();
      return;
    }
    this.lostAt ||= Date.now();
    if (!this.known || Date.now() - this.lostAt > PATIENCE) {
      sessionStorage.removeItem(place(this.workload, this.pod));
      this.end("The connection was lost.");
      return;
    }
    this.told.say(LOST, false);
    setTimeout(() => this.connect(), RETRY);
  }

  /** @param {object} message */
  say(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  /** @param {string} text */
  type(text) {
    if (!this.isOpen) {
      // What is typed ahead is not lost, but nobody means a book.
      if (!this.isOver) this.ahead = (this.ahead + text).slice(0, PIECE);
      return;
    }
    const bytes = new TextEncoder().encode(text);
    for (let at = 0; at < bytes.length; at += PIECE) {
      const part = bytes.subarray(at, at + PIECE);
      const frame = new Uint8Array(part.length + 1);
      frame[0] = STDIN;
      frame.set(part, 1);
      this.socket?.send(frame);
    }
  }

  /** @param {{columns: number, rows: number}} size */
  resize(size) {
    this.size = size;
    this.say({ type: "resize", ...size });
  }

  /** @param {string} reason */
  end(reason) {
    if (this.isOver) return;
    this.isOver = true;
    sessionStorage.removeItem(place(this.workload, this.pod));
    this.told.say(reason, true);
  }

  close() {
    this.say({ type: "close" });
    this.end("You closed it.");
    this.socket?.close();
  }
}
