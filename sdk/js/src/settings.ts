import * as host from "boathook:host";

/** The settings that the admin gave this hook's bundle; `{}` without any. */
export function settings<T = Record<string, unknown>>(): T {
  return host.settings() as T;
}
