/**
 * The values of the module that the hook belongs to. A hook sees them as they were when its run began. What it changes is
 * checked and kept when the run has succeeded, all of it or nothing. A hook of a module changes the section of its module; a
 * global hook changes the section `global`, and turns modules on and off. Outside of modules, each call throws.
 */

import * as host from "boathook:host";
import { Permanent } from "./errors.js";

/** The values: an object with `global` and, for a hook of a module, the section of the module. */
export function get<T = Record<string, unknown>>(): T {
  return both().values as T;
}

/** The configuration, as users wrote it: an object with `global` and the section of the module. */
export function config<T = Record<string, unknown>>(): T {
  return both().config as T;
}

/**
 * Sets a value. The path is a JSON pointer, such as `/web/replicas`; `/web/hosts/-` adds to a list. `/webEnabled` turns a
 * module on or off, for a global hook.
 */
export function set(path: string, value: unknown): void {
  taken(host.patchValues(added(path, value)));
}

/** Removes a value. */
export function remove(path: string): void {
  taken(host.patchValues(removed(path)));
}

/** Sets a value of the configuration. */
export function setConfig(path: string, value: unknown): void {
  taken(host.patchConfigValues(added(path, value)));
}

/** Removes a value of the configuration. */
export function removeConfig(path: string): void {
  taken(host.patchConfigValues(removed(path)));
}

function both(): { values: unknown; config: unknown } {
  const answer = host.moduleValues();
  if (answer.err !== undefined) throw new Permanent(answer.err);
  return answer.ok;
}

function added(path: string, value: unknown): string {
  if (value === undefined) throw new Permanent(`the value of ${path} is undefined, which JSON does not have: remove it`);
  return JSON.stringify([{ op: "add", path, value }]);
}

function removed(path: string): string {
  return JSON.stringify([{ op: "remove", path }]);
}

function taken(answer: { err?: string | undefined }): void {
  if (answer.err !== undefined) throw new Permanent(answer.err);
}
