// @ts-check

import { Lane, find } from "./lane.js";

/**
 * @typedef {object} State
 * @property {string} at
 * @property {{sku: string, start: number, stock: number, sold: number, oversold: number}} item
 * @property {import("./lane.js").LaneState} locked
 * @property {import("./lane.js").LaneState} unlocked
 * @property {{acquired: number, handed_over: number, lost: number, waiting: number, held: number}} locks
 * @property {{name: ""|"locked"|"unlocked"|"stop", run: number, running: boolean, buyers: number, done: number,
 *   steps: {at: string, text: string, kind: "info"|"good"|"bad"}[] | null}} demo
 * @property {boolean} can_stop
 * @property {string} [why_not] the reason if it cannot
 */

const status = find(document, "#status");
const steps = find(document, "#steps");
const buttons = [...document.querySelectorAll("button")];
const lanes = { locked: new Lane(find(document, "#locked")), unlocked: new Lane(find(document, "#unlocked")) };

let running = false;
let connected = false;
let canStop = true;

/** @param {State} state */
function show(state) {
  const { item, locks, demo } = state;
  connected = true;
  setNumbers({
    stock: item.stock, start: item.start, sold: item.sold, oversold: item.oversold,
    waiting: locks.waiting, held: locks.held, acquired: locks.acquired, handed: locks.handed_over, lost: locks.lost,
  });
  find(document, "#over").classList.toggle("bad", item.oversold > 0);
  find(document, "#losses").classList.toggle("bad", locks.lost > 0);

  for (const name of /** @type {const} */ (["locked", "unlocked"])) {
    const own = demo.running && demo.name === name;
    lanes[name].update(state[name], Date.parse(state.at), own);
  }
  showSteps(demo.steps ?? []);
  say(outcome(state), false);
  running = demo.running;
  canStop = state.can_stop;
  for (const button of buttons) {
    button.setAttribute("aria-disabled", String(running || (button.dataset.demo === "stop" && !canStop)));
    button.setAttribute("aria-busy", String(running && button.dataset.demo === demo.name));
  }
  if (!canStop) find(document, "#stop-note").textContent = `Not possible here: ${state.why_not}.`;
  document.body.dataset.run = String(demo.run);
  document.body.dataset.demo = running ? "running" : "idle";
}

/**
 * Screen readers read the result aloud. So the text says what runs and what came of it,
 * and does not change with each order.
 * @param {State} state
 */
function outcome({ item, locked, unlocked, demo }) {
  if (demo.running) {
    return {
      locked: "200 buyers order with the lock.",
      unlocked: "200 buyers order without the lock.",
      stop: "A second process is stopped while it has the lock.",
      "": "",
    }[demo.name];
  }
  return {
    locked: `With the lock: ${locked.sold} of ${item.start} pieces sold, and ${locked.oversold || "not one"} more than there were.`,
    unlocked: `Without the lock: ${unlocked.sold} pieces sold, ${unlocked.oversold} more than there were.`,
    stop: "The holder continues. Its write came too late.",
    "": "Press a button: 200 buyers order 100 pieces.",
  }[demo.name];
}

/** @param {Record<string, number>} numbers by the ids of their elements */
function setNumbers(numbers) {
  for (const [id, n] of Object.entries(numbers)) {
    const element = find(document, `#${id}`);
    if (element.textContent !== String(n)) element.textContent = String(n);
  }
}

/** @param {NonNullable<State["demo"]["steps"]>} list */
function showSteps(list) {
  if (list.length === 0) return;
  const shown = steps.querySelectorAll("li:not(.plan)").length;
  if (shown === 0 || list.length < shown || steps.dataset.first !== list[0].at) steps.replaceChildren();
  steps.dataset.first = list[0].at;
  for (const step of list.slice(steps.children.length)) {
    const item = document.createElement("li");
    item.className = step.kind;
    item.textContent = step.text;
    steps.append(item);
  }
}

/**
 * @param {string} text
 * @param {boolean} trouble
 */
function say(text, trouble) {
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle("trouble", trouble);
}

/** @param {string} name */
async function start(name) {
  try {
    const res = await fetch(`/demo/${name}`, { method: "POST" });
    if (!res.ok && res.status !== 409) say(`The shop answers ${res.status} ${res.statusText}.`, true);
  } catch {
    say("The shop does not answer.", true);
  }
}

for (const button of buttons) {
  button.addEventListener("click", () => {
    if (button.getAttribute("aria-disabled") !== "true") start(button.dataset.demo ?? "");
  });
}
find(document, "#origin").textContent = location.origin;

/** @type {EventSource | undefined} */
let source;

/** Listens while the page is visible, because a browser has few connections to one host. */
function listen() {
  source?.close();
  if (document.hidden) return;
  const opened = new EventSource("/live");
  source = opened;
  opened.addEventListener("state", (event) => show(JSON.parse(event.data)));
  opened.addEventListener("error", () => {
    say(connected ? "The connection is lost. Trying again…" : "The shop does not answer. Trying again…", true);
    if (opened.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  });
}
document.addEventListener("visibilitychange", listen);
listen();
