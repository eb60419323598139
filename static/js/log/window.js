/**
 * The part of a log that is in the page: whole blocks, at most 2 000 rows, contiguous.
 *
 * Blocks share their cursors, so what is taken out at one end can be asked for again.
 *
 * @typedef {{before: string, after: string, rows: HTMLElement[]}} Block
 */
export const MOST_ROWS = 2000;

export class LogWindow {
  /** @param {HTMLElement} view @param {HTMLElement} list */
  constructor(view, list) {
    this.view = view;
    this.list = list;
    /** @type {Block[]} */
    this.blocks = [];
    this.size = 0;
  }

  /** @param {Block} block */
  adopt(block) {
    this.blocks = [block];
    this.size = block.rows.length;
  }

  get first() {
    return this.blocks[0];
  }

  get last() {
    return /** @type {Block} */ (this.blocks.at(-1));
  }

  /** @param {Block} block */
  replace(block) {
    this.list.replaceChildren(...block.rows);
    this.adopt(block);
  }

  /** Add below; whether rows had to go at the top. @param {Block[]} blocks */
  append(blocks) {
    for (const block of blocks) {
      this.list.append(...block.rows);
      this.blocks.push(block);
      this.size += block.rows.length;
    }
    let went = false;
    while (this.size > MOST_ROWS && this.blocks.length > 1) {
      this.#drop(/** @type {Block} */ (this.blocks.shift()));
      went = true;
    }
    return went;
  }

  /** Add above; whether rows had to go at the bottom. @param {Block} block */
  prepend(block) {
    this.list.prepend(...block.rows);
    this.blocks.unshift(block);
    this.size += block.rows.length;
    let went = false;
    while (this.size > MOST_ROWS && this.blocks.length > 1) {
      this.#drop(/** @type {Block} */ (this.blocks.pop()));
      went = true;
    }
    return went;
  }

  /** Rows that stand for lines from before this window: they belong to its last block. @param {HTMLElement} row */
  adoptRow(row) {
    this.list.append(row);
    this.last.rows.push(row);
    this.size += 1;
  }

  /** Change rows without moving what is seen by a pixel. @template T @param {() => T} change */
  hold(change) {
    const row = this.#firstSeen();
    const before = row?.getBoundingClientRect().top ?? 0;
    const result = change();
    if (row?.isConnected) {
      const away = row.getBoundingClientRect().top - before;
      if (away) this.view.scrollTop += away;
    }
    return result;
  }

  get isAtEnd() {
    return this.view.scrollHeight - this.view.scrollTop - this.view.clientHeight < 4;
  }

  toEnd() {
    this.view.scrollTop = this.view.scrollHeight;
  }

  /** @param {HTMLElement} row */
  centre(row) {
    this.view.scrollTop = row.offsetTop - (this.view.clientHeight - row.offsetHeight) / 2;
  }

  /** @param {Block} block */
  #drop(block) {
    for (const row of block.rows) row.remove();
    this.size -= block.rows.length;
  }

  /** The first row that is at least partly seen. */
  #firstSeen() {
    const rows = /** @type {HTMLCollectionOf<HTMLElement>} */ (this.list.children);
    let [low, high] = [0, rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (rows[middle].offsetTop + rows[middle].offsetHeight > this.view.scrollTop) high = middle;
      else low = middle + 1;
    }
    return rows[low];
  }
}
