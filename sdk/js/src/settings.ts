import * as host from "boathook:host";

/** The settings of the hook's bundle; `{}` without any. */
export function settings<T = Record<string, unknown>>(): T {
  return host.settings() as T;
}
