// Requests to the operator. Each carries the token as a header, which pages of other sites cannot send.
import { useEffect, useState } from "preact/hooks";

const KEY = "boathook-token";

/** The token of this tab. It is gone when the tab is closed. */
export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  clear: () => sessionStorage.removeItem(KEY),
};

/** What the operator refused, with its words. */
export class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

export async function get(path, signal) {
  let answer;
  try {
    answer = await fetch(`api/${path}`, { headers: { Authorization: `Bearer ${token.get() ?? ""}` }, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "the operator does not answer");
  }
  if (!answer.ok) throw new Refused(answer.status, (await answer.text()).trim());
  return answer.json();
}

let signedOut = () => {};
/** Calls this when the operator does not accept the token any more. */
export const onSignedOut = (listener) => {
  signedOut = listener;
};

/**
 * A view that is read again and again while the page is visible. Returns its last state and the last error.
 * Without a path, there is no view.
 */
export function useView(path, every = 3000) {
  const [state, set] = useState({});
  useEffect(() => {
    set({});
    if (!path) return undefined;
    const controller = new AbortController();
    let timer;
    const read = async () => {
      try {
        const data = await get(path, controller.signal);
        set({ data });
      } catch (error) {
        if (error.name === "AbortError") return;
        if (error.status === 401 || error.status === 403) signedOut(error);
        set((before) => ({ data: before.data, error }));
      }
      timer = every && setTimeout(wait, every);
    };
    const wait = () => {
      if (document.visibilityState === "visible") read();
      else document.addEventListener("visibilitychange", wait, { once: true });
    };
    read();
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wait);
    };
  }, [path, every]);
  return state;
}

export const query = (fields) => {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== "" && value !== false);
  return given.length ? `?${new URLSearchParams(given)}` : "";
};
