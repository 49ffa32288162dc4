// @ts-check

import { el } from "./format.js";
import { columns } from "./row.js";

/** Makes everything that the element shows, except the rows. */
export function makeView() {
  const search = el("input", {
    type: "search", id: "search", autocomplete: "off", spellcheck: "false", placeholder: "key, name or token",
  });
  const find = el("div", { class: "find", role: "search" }, el("label", { for: "search" }, "Search"), search);
  const prefix = el("input", { name: "prefix", id: "prefix", autocomplete: "off", spellcheck: "false" });
  const prefixForm = el("form", { action: "./" }, el("label", { for: "prefix" }, "Prefix"), prefix, el("button", {}, "Show"));
  const summary = el("p", { class: "summary" });
  const back = el("p", { class: "back" }, el("a", { href: "./" }, "All locks"));
  const status = el("p", { role: "status", class: "status" });
  const empty = el("p", { class: "empty" });

  // The roles are those of a table also where the style makes cards of the rows.
  const headings = columns.map((column) => el("th", { role: "columnheader", scope: "col" }, column));
  const body = el("tbody", { role: "rowgroup" });
  const table = el("table", { role: "table", "aria-label": "Locks" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...headings)), body);

  const question = el("h2", { id: "question" });
  const dialog = el("dialog", { "aria-labelledby": "question", "aria-describedby": "warning" },
    el("form", { method: "dialog" }, question,
      el("p", { id: "warning" }, "The holder learns of it only at its next renewal. Until then it may work at the same " +
        "time as the next holder. A resource that checks the token refuses its writes."),
      el("p", { class: "actions" },
        el("button", { value: "", autofocus: "" }, "Keep it"),
        el("button", { value: "release", class: "danger" }, "Release"))));

  const content = el("div", { class: "locks" },
    back, el("div", { class: "head" }, find, prefixForm, summary), status, table, empty, dialog);
  // Without its styles it would be shown for a moment.
  content.hidden = true;
  const style = el("link", { rel: "stylesheet", href: new URL("lockui.css", import.meta.url).href });
  style.addEventListener("load", () => { content.hidden = false; });

  return { style, content, search, find, prefix, prefixForm, summary, back, status, empty, table, body, question, dialog };
}
