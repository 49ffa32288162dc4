// @ts-check

const width = 160, height = 32, barWidth = 5, gap = 2;
const most = Math.floor(width / (barWidth + gap));

/** Chart is a row of bars, one for each sample; the newest is the last, the highest has the full height. */
export class Chart {
  /** @type {number[]} */
  #samples = [];
  #svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  #path = document.createElementNS("http://www.w3.org/2000/svg", "path");

  /** @param {Element} parent */
  constructor(parent) {
    this.#svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.#svg.setAttribute("aria-hidden", "true");
    this.#svg.append(this.#path);
    parent.append(this.#svg);
  }

  clear() {
    this.#samples = [];
  }

  /** @param {number} sample */
  add(sample) {
    this.#samples = [...this.#samples, sample].slice(-most);
  }

  draw() {
    const highest = Math.max(1, ...this.#samples);
    this.#svg.toggleAttribute("hidden", this.#samples.length === 0);
    const left = width - this.#samples.length * (barWidth + gap);
    const bars = this.#samples.map((sample, i) => {
      const h = Math.max(1, (sample / highest) * height);
      return `M${left + i * (barWidth + gap)} ${height}v${-h.toFixed(1)}h${barWidth}v${h.toFixed(1)}z`;
    });
    this.#path.setAttribute("d", bars.join(""));
  }
}
