// @ts-check

import { count, setText, timeOf, visible } from "./format.js";
import { History } from "./history.js";
import { Row } from "./row.js";
import { openStream } from "./stream.js";
import { makeView } from "./view.js";

/** @typedef {import("./history.js").Lock} Lock */
/** @typedef {{at: string, locks: Lock[], more: boolean, can_release: boolean}} List */

/**
 * The element `<distlock-locks>` shows the locks of a distlock store, live.
 *
 *     <script type="module" src="/locks/lockui.js"></script>
 *     <distlock-locks src="/locks/" prefix="shop:"></distlock-locks>
 *
 * Attributes:
 * - `src`: where the handler is mounted, with a slash at the end; default: where this
 *   script is;
 * - `prefix`: shows only keys that begin with it;
 * - `key`: shows only this key, with its history;
 * - `page`: takes prefix and key from the address of the page.
 *
 * It follows the color-scheme of the page around it. The colors are custom properties:
 * see lockui.css.
 */
class DistlockLocks extends HTMLElement {
  static observedAttributes = ["src", "prefix", "key"];

  #view = makeView();
  #history = new History();
  /** @type {Map<string, Row>} in the order of the table */
  #rows = new Map();
  #close = () => {};
  #timer = 0;
  /** The server's clock minus the browser's. */
  #ahead = 0;
  /** @type {List | undefined} */
  #list;
  #only = "";

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).append(this.#view.style, this.#view.content);
    this.#view.search.addEventListener("input", () => this.#filter());
  }

  connectedCallback() {
    this.#start();
  }

  disconnectedCallback() {
    this.#stop();
  }

  attributeChangedCallback() {
    if (this.isConnected) this.#start();
  }

  get #base() {
    return new URL(this.getAttribute("src") || new URL("./", import.meta.url), document.baseURI);
  }

  #start() {
    this.#stop();
    this.#history = new History();
    this.#rows.clear();
    this.#view.body.replaceChildren();
    this.#list = undefined;
    const page = this.hasAttribute("page"), query = new URLSearchParams(location.search);
    this.#only = this.getAttribute("key") ?? (page && location.pathname.endsWith("/key") ? query.get("name") : "") ?? "";
    const prefix = this.#only || this.getAttribute("prefix") || (page && query.get("prefix")) || "";
    if (page) document.title = visible(this.#only) || "Locks";
    this.#view.find.hidden = this.#only !== "";
    this.#view.back.hidden = !page || this.#only === "";
    this.#view.prefixForm.hidden = !page || this.#only !== "";
    this.#view.prefix.value = prefix;
    this.#say("Connecting…");

    const url = new URL("events", this.#base);
    if (prefix) url.searchParams.set("prefix", prefix);
    this.#close = openStream(url, {
      locks: (list) => this.#show(list),
      unavailable: (problem) => this.#say(`The store does not answer (${problem.error}).${this.#lastKnown()}`, true),
    }, (refused) => this.#broken(refused ? prefix : undefined));
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.#timer = setInterval(() => this.#tick(), calm ? 1000 : 100);
  }

  #stop() {
    this.#close();
    clearInterval(this.#timer);
  }

  /**
   * Says why there are no events.
   * @param {string} [prefix] of the events that the server refused
   */
  async #broken(prefix) {
    let why = "The connection is lost.";
    if (prefix !== undefined) {
      const url = new URL(this.#base);
      if (prefix) url.searchParams.set("prefix", prefix);
      const problem = await fetch(url, { headers: { Accept: "application/json" } }).then((res) => res.json(), () => ({}));
      if (problem.title) why = `${problem.title}: ${problem.detail ?? problem.status}.`;
    }
    this.#say(`${why} Trying again…${this.#lastKnown()}`, true);
  }

  #lastKnown() {
    return this.#list ? ` This is the state of ${timeOf(Date.parse(this.#list.at))}.` : "";
  }

  /**
   * @param {string} text for people, and for screen readers, which read it when it changes
   * @param {boolean} [trouble]
   */
  #say(text, trouble = false) {
    setText(this.#view.status, text);
    this.#view.status.classList.toggle("trouble", trouble);
    this.#view.table.classList.toggle("stale", trouble);
  }

  /** @param {List} list */
  #show(list) {
    const at = Date.parse(list.at);
    this.#list = list;
    this.#ahead = at - Date.now();
    const locks = this.#only ? list.locks.filter((lock) => lock.key === this.#only) : list.locks;
    this.#history.update(locks, at);
    const now = new Map(locks.map((lock) => [lock.key, lock]));
    const keys = new Set([...now.keys(), ...this.#history.keys()]);
    if (this.#only) keys.add(this.#only);
    this.#arrange([...keys].sort());
    for (const [key, row] of this.#rows) {
      const lock = now.get(key) ?? { ...row.lock, held: 0, waiting: 0, waiting_here: 0, holders: [], waiters: [] };
      row.update(lock, this.#history.of(key), list.can_release);
    }
    if (this.#view.status.classList.contains("trouble") || this.#view.status.textContent === "Connecting…") this.#say("");
    this.#filter();
    this.#tick();
  }

  /**
   * Adds and removes rows. The others stay where they are, with the focus.
   * @param {string[]} keys
   */
  #arrange(keys) {
    const wanted = new Set(keys);
    for (const [key, row] of this.#rows) {
      if (wanted.has(key)) continue;
      row.line.remove();
      row.details.remove();
      this.#rows.delete(key);
    }
    const rows = new Map();
    /** @type {Element | null} */
    let place = this.#view.body.firstElementChild;
    for (const key of keys) {
      const row = this.#rows.get(key) ?? this.#newRow(key);
      rows.set(key, row);
      if (row.line === place) {
        place = row.details.nextElementSibling;
      } else {
        this.#view.body.insertBefore(row.line, place);
        this.#view.body.insertBefore(row.details, place);
      }
    }
    this.#rows = rows;
  }

  /** @param {string} key */
  #newRow(key) {
    const url = new URL("key", this.#base);
    url.searchParams.set("name", key);
    const row = new Row(key, { href: url.href, release: (k) => this.#askRelease(k), toggled: () => this.#filter() });
    row.open = key === this.#only;
    row.link.hidden = row.open;
    return row;
  }

  /** Shows the rows that match the search. */
  #filter() {
    const words = this.#view.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, held = 0, waiting = 0, here = 0;
    for (const row of this.#rows.values()) {
      const matches = words.every((word) => row.matches(word));
      row.hide(!matches);
      if (!matches) continue;
      shown++;
      if (row.lock.held > 0) held++;
      waiting += row.lock.waiting, here += row.lock.waiting_here;
    }
    if (!this.#list) return;
    const more = this.#list.more ? " There are more keys than are shown here." : "";
    setText(this.#view.summary, `${count(held, "key", "keys")} held, ${waiting} waiting in the store, ${here} in this process.${more}`);
    this.#view.table.hidden = shown === 0;
    this.#view.empty.hidden = shown > 0;
    const wanted = this.#view.search.value.trim();
    setText(this.#view.empty, wanted ? `Nothing matches “${wanted}”.` : "No key is held or waited for.");
  }

  #tick() {
    if (this.#view.table.classList.contains("stale")) return;
    for (const row of this.#rows.values()) row.tick(Date.now() + this.#ahead);
  }

  /** @param {string} key */
  #askRelease(key) {
    const row = this.#rows.get(key);
    if (!row) return;
    setText(this.#view.question, `Take ${visible(key)} away from ${row.holder}?`);
    this.#view.dialog.returnValue = "";
    this.#view.dialog.onclose = () => {
      if (this.#view.dialog.returnValue === "release") this.#release(key);
    };
    this.#view.dialog.showModal();
  }

  /** @param {string} key */
  async #release(key) {
    const body = new URLSearchParams({ key }), name = visible(key);
    try {
      const url = new URL("release", this.#base);
      const res = await fetch(url, { method: "POST", body, headers: { Accept: "application/json" } });
      if (!res.ok) {
        const problem = await res.json().catch(() => ({})); // a proxy answers with something else
        this.#say(`${name} was not released: ${problem.detail ?? res.status}.`);
      } else {
        const { held } = await res.json();
        this.#say(held ? `${name} was released.` : `${name} was free already.`);
      }
    } catch {
      this.#say(`It is not known whether ${name} was released: no answer.`);
    }
  }
}

customElements.define("distlock-locks", DistlockLocks);
