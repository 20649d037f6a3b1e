/**
 * Metrics that the hook reports, served at the operator's `/metrics/hooks`. They count when the run has succeeded.
 * With a `group`, a run's values replace all that the hook reported in that group before.
 */

import * as host from "boathook:host";

export interface MetricOptions {
  labels?: Record<string, string | number | boolean>;
  group?: string;
}

/** Adds to a counter: a finite number, 0 or more. */
export function add(name: string, value: number, options: MetricOptions = {}): void {
  reported(host.metricAdd(name, value, options.labels, options.group));
}

/** Sets a gauge to a finite number. */
export function set(name: string, value: number, options: MetricOptions = {}): void {
  reported(host.metricSet(name, value, options.labels, options.group));
}

/** Records one observation in a histogram with these upper bounds: finite, ascending, without infinity. */
export function observe(name: string, value: number, buckets: readonly number[], options: MetricOptions = {}): void {
  reported(host.metricObserve(name, value, buckets, options.labels, options.group));
}

/** Removes all series that this hook reported in the group. */
export function expire(group: string): void {
  reported(host.metricExpire(group));
}

function reported(answer: { err?: string | undefined }): void {
  if (answer.err !== undefined) throw new Error(answer.err);
}
