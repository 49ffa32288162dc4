// @ts-check

const retryAfter = 2000;

/**
 * Opens server-sent events while the page is visible: a browser has few connections to
 * one host, and hidden pages would use them up. A broken connection is opened again.
 *
 * @param {string|URL} url
 * @param {Record<string, (data: any) => void>} on what to do with each kind of event
 * @param {(refused: boolean) => void} broken is called when the connection is lost, or when
 *   the answer is not a stream
 * @returns {() => void} closes the stream
 */
export function openStream(url, on, broken) {
  /** @type {EventSource | undefined} */
  let source;
  let timer = 0;

  function open() {
    close();
    if (document.hidden) return;
    const opened = new EventSource(url);
    source = opened;
    for (const [kind, handle] of Object.entries(on)) {
      opened.addEventListener(kind, (event) => handle(JSON.parse(event.data)));
    }
    opened.addEventListener("error", () => {
      // The browser tries again by itself, except after an answer that is not a stream.
      const refused = opened.readyState === EventSource.CLOSED;
      if (refused) timer = setTimeout(open, retryAfter);
      broken(refused);
    });
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  }

  document.addEventListener("visibilitychange", open);
  open();
  return () => {
    document.removeEventListener("visibilitychange", open);
    close();
  };
}
