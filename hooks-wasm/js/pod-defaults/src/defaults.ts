// What a Pod gets that does not say it itself. Pure, and done twice it changes nothing more. It never overrides a
// field that is set.

import type { Container, Pod } from "kubernetes-types/core/v1";

/** Requests of a container that has neither a request nor a limit of a resource: a limit stands for a request. */
const REQUESTS = { cpu: "50m", memory: "64Mi" };

/** Fills in what is missing. `labels` are those of the Pod's namespace that Pods inherit. */
export function fill(pod: Pod, labels: [string, string][]): void {
  if (labels.length > 0) {
    pod.metadata ??= {};
    pod.metadata.labels ??= {};
    for (const [key, value] of labels) pod.metadata.labels[key] ??= value;
  }
  pod.spec ??= { containers: [] };
  const { spec } = pod;
  // `os` is younger than the types.
  const windows = (spec as { os?: { name?: string } }).os?.name === "windows";
  if (!windows) {
    spec.securityContext ??= {};
    (spec.securityContext as { seccompProfile?: object }).seccompProfile ??= { type: "RuntimeDefault" };
  }
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    requests(container);
    if (!windows && !isPrivileged(container)) {
      container.securityContext ??= {};
      container.securityContext.allowPrivilegeEscalation ??= false;
    }
  }
}

function requests(container: Container): void {
  const resources = (container.resources ??= {});
  for (const [resource, quantity] of Object.entries(REQUESTS)) {
    if (resources.limits && resource in resources.limits) continue;
    resources.requests ??= {};
    resources.requests[resource] ??= quantity;
  }
}

/** Such a container can't be without the right to more privileges: the API server refuses the two together. */
function isPrivileged(container: Container): boolean {
  const added = container.securityContext?.capabilities?.add ?? [];
  return container.securityContext?.privileged === true || added.some((name) => /^(CAP_)?SYS_ADMIN$/.test(name));
}
