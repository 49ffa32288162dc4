// @ts-check

import { Chart } from "./chart.js";

/**
 * @typedef {object} LaneState The latest sale of a lane.
 * @property {number} sold
 * @property {number} sold_out how many buyers were told that it is sold out
 * @property {number} failed
 * @property {number} per_second
 * @property {number} oversold
 * @property {number} start the stock with which it began
 */

/** Lane is one of the two ways to sell. */
export class Lane {
  #total = 0;
  #at = 0;

  /** @param {HTMLElement} root */
  constructor(root) {
    this.root = root;
    this.chart = new Chart(find(root, ".rate"));
    this.verdict = find(root, ".verdict");
    this.track = find(root, ".track");
    this.rate = find(root, "b");
  }

  /**
   * @param {LaneState} state
   * @param {number} at when that was, in milliseconds
   * @param {boolean} running
   */
  update(state, at, running) {
    const total = state.sold + state.sold_out + state.failed;
    if (total < this.#total || (running && total === 0)) {
      this.chart.clear();
      this.#total = 0;
    }
    if (total > this.#total && this.#at > 0) {
      this.chart.add((total - this.#total) / Math.max(0.001, (at - this.#at) / 1000));
    }
    this.#total = total;
    this.#at = at;
    this.chart.draw();

    this.root.classList.toggle("running", running);
    this.root.classList.toggle("bad", state.oversold > 0);
    this.verdict.textContent = verdict(state, total, running);
    this.rate.textContent = total > 0 ? state.per_second.toFixed(0) : "–";
    const { start } = state, scale = Math.max(2 * start, state.sold, 1);
    const share = (/** @type {number} */ n) => `${(100 * n) / scale}%`;
    this.track.style.setProperty("--sold", share(Math.min(state.sold, start)));
    this.track.style.setProperty("--over", share(state.oversold));
    this.track.style.setProperty("--start", share(start || 0.5));
  }
}

/**
 * @param {LaneState} state
 * @param {number} total
 * @param {boolean} running
 */
function verdict(state, total, running) {
  if (total === 0) return running ? "The buyers come." : "Not run yet.";
  const rest = [`${state.sold} sold`, `${state.sold_out} told that it is sold out`];
  if (state.failed > 0) rest.push(`${state.failed} failed`);
  if (state.oversold > 0) return `${state.oversold} too many: ${rest.join(", ")}.`;
  if (running || state.sold < state.start) return `${rest.join(", ")}.`;
  return `Exact: ${rest.join(", ")}.`;
}

/**
 * @param {ParentNode} root
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function find(root, selector) {
  const found = root.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return found;
}
