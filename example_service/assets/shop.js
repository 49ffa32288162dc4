// @ts-check

/**
 * @typedef {{sold: number, sold_out: number, failed: number}} Tally
 * @typedef {object} State
 * @property {{sku: string, stock: number, sold: number}} item
 * @property {number} pieces on sale at first
 * @property {""|"unlocked"|"locked"|"stop"} running
 * @property {Tally} unlocked
 * @property {Tally} locked
 * @property {{kind: "info"|"good"|"bad", text: string}[]} steps
 * @property {boolean} can_stop
 */

/** @param {string} selector */
function find(selector, root = /** @type {ParentNode} */ (document)) {
  const found = root.querySelector(selector);
  if (!(found instanceof HTMLElement)) throw new Error(`the page has no ${selector}`);
  return found;
}

/** @param {string} selector @param {string|number} text */
function write(selector, text) {
  const element = find(selector);
  if (element.textContent !== String(text)) element.textContent = String(text);
}

const buttons = [...document.querySelectorAll("button")];
const what = {
  unlocked: "200 buyers order without the lock.",
  locked: "200 buyers order with the lock.",
  stop: "A second process is stopped while it has the lock.",
};
let last = ""; // what ran last

/** @param {State} state */
function show({ item, pieces, running, unlocked, locked, steps, can_stop }) {
  const over = Math.max(0, item.sold - pieces);
  write("#stock", item.stock);
  write("#pieces", pieces);
  write("#sold", item.sold);
  write("#oversold", over);
  find("#over").classList.toggle("bad", over > 0);
  lane("unlocked", unlocked, pieces, running);
  lane("locked", locked, pieces, running);
  const list = find("#steps");
  if (steps.length > 0) {
    list.replaceChildren(...steps.map(({ kind, text }) => {
      const line = document.createElement("li");
      line.className = kind;
      line.textContent = text;
      return line;
    }));
  }
  for (const button of buttons) {
    const off = running !== "" || (button.dataset.demo === "stop" && !can_stop);
    button.setAttribute("aria-disabled", String(off));
    button.setAttribute("aria-busy", String(running === button.dataset.demo));
  }
  if (!can_stop) write("#stop-note", "This system cannot stop a process.");
  if (running !== "") say(what[running], false);
  else if (last !== "") say(`${item.sold} sold, ${over === 0 ? "not one" : over} more than there were.`, over > 0);
  if (running !== "") last = running;
  document.body.dataset.demo = running || "idle";
}

/** @param {"unlocked"|"locked"} id @param {Tally} tally @param {number} pieces @param {string} running */
function lane(id, { sold, sold_out, failed }, pieces, running) {
  const root = find(`#${id}`);
  const over = Math.max(0, sold - pieces);
  let text = `${sold} sold, ${sold_out} told that it is sold out`;
  if (failed > 0) text += `, ${failed} failed`;
  if (sold + sold_out + failed === 0) text = running === id ? "The buyers come" : "Not run yet";
  else if (over > 0) text = `${over} too many: ${text}`;
  else if (running !== id && sold === pieces) text = `Exact: ${text}`;
  find(".verdict", root).textContent = text + ".";
  root.classList.toggle("bad", over > 0);
  const share = (/** @type {number} */ n) => `${(100 * n) / (2 * pieces)}%`;
  const track = find(".track", root);
  track.style.setProperty("--sold", share(Math.min(sold, pieces)));
  track.style.setProperty("--over", share(over));
}

/** @param {string} text @param {boolean} trouble */
function say(text, trouble) {
  write("#status", text);
  find("#status").classList.toggle("trouble", trouble);
}

async function look() {
  try {
    if (!document.hidden) show(await (await fetch("/sale")).json());
  } catch {
    say("The shop does not answer. Trying again…", true);
  }
  setTimeout(look, 150);
}

for (const button of buttons) {
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") fetch(`/demo/${button.dataset.demo}`, { method: "POST" });
  });
}
write("#origin", location.origin);
look();
