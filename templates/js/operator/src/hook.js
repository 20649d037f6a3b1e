// Turns a WebApp into a Deployment and a Service, and shows in its status how many replicas are ready.
//
// It writes nothing itself: the operator applies what `reconcile` returns, repairs it, and deletes it with the WebApp.

import { hook } from "@boathook/sdk";

/**
 * The `spec` of a WebApp.
 * @typedef {{ image: string, size?: number }} Spec
 */

export default hook({
  // The kind of the custom resource, which crd.yaml defines, and the kinds that `reconcile` may return.
  config: {
    reconcile: [
      {
        name: "apps",
        apiVersion: "example.com/v1alpha1",
        kind: "WebApp",
        owns: [
          { apiVersion: "apps/v1", kind: "Deployment" },
          { apiVersion: "v1", kind: "Service" },
        ],
      },
    ],
  },

  /**
   * Runs when a WebApp or one of its children changes. It returns all children, each with the fields that it decides.
   * @param {import("@boathook/sdk").Parent<Spec>} app
   */
  reconcile(app) {
    const { image, size = 1 } = app.spec;
    const labels = { "app.kubernetes.io/name": app.name };
    const metadata = { name: app.name, labels };
    const web = { name: "web", image, ports: [{ containerPort: 8080 }] };
    const template = { metadata: { labels }, spec: { containers: [web] } };
    const pods = { replicas: size, selector: { matchLabels: labels }, template };
    const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata, spec: pods };
    const port = { selector: labels, ports: [{ port: 80, targetPort: 8080 }] };
    const service = { apiVersion: "v1", kind: "Service", metadata, spec: port };
    /** @type {import("@boathook/sdk").Child<import("kubernetes-types/apps/v1").Deployment> | undefined} */
    const found = app.child("Deployment", app.name);
    const ready = found?.object.status?.readyReplicas ?? 0;
    const message = `${ready} of ${size} replicas are ready`;
    const conditions = [{ type: "Ready", status: ready === size, reason: "Replicas", message }];
    return { children: [deployment, service], status: { readyReplicas: ready }, conditions };
  },
});
