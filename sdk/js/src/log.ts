/** Lines of the operator's log, with fields. `console` writes there, too. */

import * as host from "boathook:host";

export type Fields = Record<string, unknown>;

export function debug(message: string, fields?: Fields): void {
  host.log("debug", message, fields);
}

export function info(message: string, fields?: Fields): void {
  host.log("info", message, fields);
}

export function warn(message: string, fields?: Fields): void {
  host.log("warn", message, fields);
}

export function error(message: string, fields?: Fields): void {
  host.log("error", message, fields);
}
