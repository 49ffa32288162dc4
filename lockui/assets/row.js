// @ts-check

import { count, duration, el, setText, timeOf, visible } from "./format.js";

/** @typedef {import("./history.js").Lock} Lock */
/** @typedef {import("./history.js").Holder} Holder */
/** @typedef {import("./history.js").Waiter} Waiter */
/** @typedef {import("./history.js").Entry} Entry */

/** The columns, each with the heading that narrow screens show beside the value. */
export const columns = ["Key", "Mode", "Holder", "Token", "Since", "Time left", "Waiting in the store"];

const modes = { exclusive: "exclusive", shared: "shared", permits: "permits", foreign: "not a lock of distlock" };

let ids = 0;

/** Row is one key: a line of the table, and below it what opens on a click. */
export class Row {
  /** @type {Lock} */
  lock;
  /** The whole lease of the holder that is shown, as far as it is known. */
  #lease = { id: "", ms: 0 };

  /**
   * @param {string} key
   * @param {{href: string, release: (key: string) => void, toggled: () => void}} options
   */
  constructor(key, { href, release, toggled }) {
    this.key = key;
    this.lock = { key, mode: "exclusive", held: 0, waiting: 0, waiting_here: 0, holders: [], waiters: [] };
    const details = `details-${ids++}`;

    this.button = el("button", { type: "button", class: "key", "aria-expanded": "false", "aria-controls": details }, visible(key));
    this.button.addEventListener("click", () => {
      this.open = !this.open;
      toggled();
    });
    /** @type {Record<string, HTMLElement>} */
    this.cells = {};
    this.line = el("tr", { role: "row" });
    for (const column of columns) {
      const cell = el("td", { role: "cell", "data-label": column });
      this.cells[column] = cell;
      this.line.append(cell);
    }
    this.cells["Key"].append(this.button);
    this.left = el("span");
    this.bar = el("span", { class: "bar", "aria-hidden": "true" }, el("span"));
    this.cells["Time left"].append(this.left, this.bar);

    this.holders = el("section", {}, el("h3", {}, "Holders"), el("ul"));
    this.waiters = el("section", { class: "waiters" }, el("h3", {}, "Waiting, in this order"), el("ol"));
    this.history = el("ol", { class: "history" });
    this.release = el("button", { type: "button", class: "release" }, "Release…");
    this.release.addEventListener("click", () => release(key));
    this.link = el("a", { href }, "Only this key");
    this.details = el("tr", { role: "row", class: "details", id: details },
      el("td", { role: "cell", colspan: String(columns.length) },
        this.holders,
        this.waiters,
        el("h3", {}, "History since this page was opened, by a look twice a second"),
        this.history,
        el("p", { class: "actions" }, this.release, this.link)));
    this.open = false;
  }

  get open() {
    return this.button.getAttribute("aria-expanded") === "true";
  }

  set open(open) {
    this.button.setAttribute("aria-expanded", String(open));
    this.details.hidden = !open;
  }

  /** @param {boolean} hidden */
  hide(hidden) {
    this.line.hidden = hidden;
    this.details.hidden = hidden || !this.open;
  }

  /**
   * @param {string} word in small letters
   * @returns {boolean} whether the word is in a text, or is one of a holder's tokens
   */
  matches(word) {
    return this.#text.includes(word) || /^\d+$/.test(word) && this.lock.holders.some((h) =>
      h.token && BigInt(h.token) <= BigInt(word) && BigInt(word) <= BigInt(h.last_token ?? h.token));
  }

  /** All that the search looks at. */
  get #text() {
    const holders = this.lock.holders.map((h) => `${h.holder ?? ""} ${h.fingerprint} ${h.token ?? ""}`);
    const waiters = this.lock.waiters.map((w) => `${w.waiter ?? ""} ${w.fingerprint ?? ""}`);
    return `${this.key} ${holders.join(" ")} ${waiters.join(" ")}`.toLowerCase();
  }

  /**
   * @param {Lock} lock
   * @param {readonly Entry[]} history
   * @param {boolean} canRelease
   */
  update(lock, history, canRelease) {
    this.lock = lock;
    const free = lock.held === 0, [first] = lock.holders;
    this.line.classList.toggle("free", free);
    const mode = lock.mode === "foreign" ? `${modes.foreign}: ${lock.foreign}` : modes[lock.mode];
    setText(this.cells["Mode"], free ? "free" : lock.held > 1 ? `${mode}, ${lock.held} holders` : mode);
    this.#showHolder(this.cells["Holder"], free ? undefined : first, lock.held - 1);
    if (free && lock.kept_since) setText(this.cells["Holder"], "kept by a function of this process");
    setText(this.cells["Token"], (!free && first && tokensOf(first)) || "–");
    const since = free ? lock.kept_since : first?.since;
    setText(this.cells["Since"], since ? timeOf(Date.parse(since)) : "–");
    this.#showWaiting(this.cells["Waiting in the store"]);
    this.release.hidden = !canRelease || free || lock.mode === "foreign";
    this.#showHolders();
    this.#showWaiters();
    this.#showHistory(history);
  }

  /**
   * @param {HTMLElement} cell
   * @param {Holder|undefined} holder
   * @param {number} others
   */
  #showHolder(cell, holder, others) {
    const name = holder ? nameOf(holder) : "–";
    const more = others > 0 ? ` and ${others} more` : "";
    if (cell.dataset.shows === `${name} ${holder?.fingerprint}${more}`) return;
    cell.dataset.shows = `${name} ${holder?.fingerprint}${more}`;
    cell.replaceChildren(el("span", { class: "name" }, name + more));
    if (holder?.fingerprint) {
      cell.append(" ", el("code", { title: "fingerprint of the owner" }, holder.fingerprint));
    }
  }

  /**
   * Shows how many wait, and who is next.
   * @param {HTMLElement} cell
   */
  #showWaiting(cell) {
    const { waiting, waiting_here: here, waiters: [next] } = this.lock;
    const name = next ? nameOf(holderOf(next)) : "";
    if (cell.dataset.shows === `${waiting} ${here} ${name}`) return;
    cell.dataset.shows = `${waiting} ${here} ${name}`;
    cell.replaceChildren(el("span", { class: waiting > 0 ? "some" : "" }, String(waiting)));
    if (here > 0) cell.append(" ", el("span", { class: "some" }, `and ${here} in this process`));
    if (next) cell.append(" ", el("span", { class: "next" }, `next: ${name}`));
  }

  /** Lists the waiters in their order. */
  #showWaiters() {
    const { waiting, waiters } = this.lock;
    this.waiters.hidden = waiters.length === 0;
    const lines = waiters.map((w, i) => {
      const wish = w.mode === "permits" ? `, one of ${count(w.permits ?? 0, "permit", "permits")}` : w.mode === "shared" ? ", shared" : "";
      return [w.since ? `since ${timeOf(Date.parse(w.since))}` : "", `${i + 1}. ${textOf(holderOf(w))}${wish}`];
    });
    if (waiting > waiters.length) lines.push(["", `and ${waiting - waiters.length} more`]);
    replaceItems(/** @type {HTMLElement} */ (this.waiters.lastElementChild), lines);
  }

  /** Lists the holders if there are several. */
  #showHolders() {
    const several = this.lock.holders.length > 1 ? this.lock.holders : [];
    this.holders.hidden = several.length === 0;
    const lines = several.map((h) => [h.since ? `since ${timeOf(Date.parse(h.since))}` : "", textOf(h)]);
    replaceItems(/** @type {HTMLElement} */ (this.holders.lastElementChild), lines);
  }

  /** @param {readonly Entry[]} history */
  #showHistory(history) {
    const lines = history.map((e) => {
      const from = timeOf(e.from);
      return [e.to === undefined ? `since ${from}` : `${from}, for ${duration(e.to - e.from)}`, textOf(e)];
    });
    replaceItems(this.history, lines.length > 0 ? lines : [["", "Nothing has held it."]]);
  }

  /**
   * Counts down.
   * @param {number} now by the server's clock
   */
  tick(now) {
    const [first] = this.lock.holders;
    const known = this.lock.held > 0 && first?.until !== undefined;
    this.bar.hidden = !known;
    if (!known) {
      setText(this.left, this.lock.held > 0 ? "unknown" : "–");
      return;
    }
    const left = Math.max(0, Date.parse(first.until ?? "") - now);
    const id = `${first.fingerprint} ${first.token}`;
    this.#lease = { id, ms: Math.max(left, this.#lease.id === id ? this.#lease.ms : 0) };
    setText(this.left, duration(left));
    this.bar.style.setProperty("--part", String(this.#lease.ms > 0 ? left / this.#lease.ms : 0));
  }

  /** @returns {string} who has the key, for a question */
  get holder() {
    const [first] = this.lock.holders;
    if (this.lock.held > 1) return count(this.lock.held, "holder", "holders");
    return visible(first?.holder ?? "") || first?.fingerprint || "its holder";
  }
}

/** @param {Waiter} w */
function holderOf(w) {
  return { holder: w.waiter, fingerprint: w.fingerprint };
}

/** @param {{holder?: string, fingerprint?: string}} h */
function nameOf(h) {
  return visible(h.holder ?? "") || (h.fingerprint ? "no name" : "unknown");
}

/** @param {{holder?: string, fingerprint?: string, token?: string, last_token?: string}} h */
function textOf(h) {
  return `${nameOf(h)} ${h.fingerprint ?? ""}` + (h.token ? `, token ${tokensOf(h)}` : "");
}

/**
 * @param {{token?: string, last_token?: string}} h
 * @returns {string} the range of tokens; of the last one the digits that differ
 */
function tokensOf({ token: first = "", last_token: last = first }) {
  if (last === first) return first;
  const differs = [...last].findIndex((digit, i) => digit !== first[i]);
  return `${first}…${last.slice(first.length === last.length ? differs : 0)}`;
}

/**
 * @param {HTMLElement} list
 * @param {string[][]} lines each with the time and the rest
 */
function replaceItems(list, lines) {
  const text = lines.join("\n");
  if (list.dataset.shows === text) return;
  list.dataset.shows = text;
  list.replaceChildren(...lines.map(([time, rest]) => el("li", {}, el("span", { class: "when" }, time), " ", rest)));
}
