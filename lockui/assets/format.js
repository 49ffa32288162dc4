// @ts-check

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

/**
 * Makes an element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node|string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/**
 * Changes a text only if it differs, so that a selection in it stays.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Shows what cannot be seen, or reorders the text around it: one key must not look like
 * another.
 * @param {string} text a key or the name of a holder
 * @returns {string} the text, with such characters as \u{202e}
 */
export function visible(text) {
  return text.replace(/(?! )[\p{C}\p{Z}]/gu, (c) => `\\u{${c.codePointAt(0)?.toString(16)}}`);
}

/**
 * @param {number} ms since 1970
 * @returns {string} the time of day, with the day if that is not today
 */
export function timeOf(ms) {
  const at = new Date(ms);
  const today = at.toDateString() === new Date().toDateString();
  return today ? clock.format(at) : `${day.format(at)} ${clock.format(at)}`;
}

/**
 * @param {number} ms
 * @returns {string} such as "2.4 s", "3 min 20 s", "5 h 2 min"
 */
export function duration(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 60) return `${s.toFixed(1)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

/**
 * @param {number} n
 * @param {string} one
 * @param {string} many
 */
export function count(n, one, many) {
  return `${n} ${n === 1 ? one : many}`;
}
