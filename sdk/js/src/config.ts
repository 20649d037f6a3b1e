/**
 * The configuration document: what wakes a hook and what it may touch. These types say what `boathook schema`
 * says; the host checks it and names every mistake.
 */

/** `10s`, `1h30m`. */
export type Duration = string;
/** `64Mi`, or bytes. */
export type Bytes = string | number;

/** As in Kubernetes. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] }[];
}

/** Like `LabelSelector`. Values are any text. */
export interface AnnotationSelector {
  matchAnnotations?: Record<string, string>;
  matchExpressions?: { key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] }[];
}

export interface NameSelector {
  matchNames: string[];
}

export interface FieldSelector {
  matchExpressions: { field: string; operator: string; value: string }[];
}

export interface NamespaceSelector {
  nameSelector?: NameSelector;
  labelSelector?: LabelSelector;
}

export interface Retry {
  initial?: Duration;
  max?: Duration;
  multiplier?: number;
  jitter?: number;
  attempts?: number;
}

/** What all bindings have. */
export interface Binding {
  group?: string;
  /** Kubernetes bindings whose snapshots the runs of this one may open. */
  includeSnapshotsFrom?: string[];
  queue?: string;
  allowFailure?: boolean;
  retry?: Retry;
}

export interface ScheduleBinding extends Binding {
  name?: string;
  crontab: string;
  timeZone?: string;
  missedRuns?: "skip" | "once";
  jitter?: Duration;
}

export interface KubernetesBinding extends Binding {
  name?: string;
  apiVersion?: string;
  kind: string;
  executeHookOnEvent?: ("Added" | "Modified" | "Deleted")[];
  executeHookOnSynchronization?: boolean;
  waitForSynchronization?: boolean;
  resynchronizationPeriod?: Duration;
  ignoreOwnWrites?: boolean;
  debounce?: Duration;
  previousObject?: boolean;
  /** What of each object is kept and delivered. */
  content?: "full" | "metadata" | "none";
  jqFilter?: string;
  nameSelector?: NameSelector;
  labelSelector?: LabelSelector;
  fieldSelector?: FieldSelector;
  namespace?: NamespaceSelector;
}

/** A kind that a `reconcile` binding may return. */
export interface OwnedKind {
  apiVersion: string;
  kind: string;
}

/** Objects that the objects of a custom resource refer to: by name, by labels, or both. */
export interface RelatedKind {
  /** What `parent.related` calls them. */
  name: string;
  apiVersion: string;
  kind: string;
  /** The field with the name, such as `.spec.secretName` or `.spec.volumes[].secret`. */
  nameFrom?: string;
  /** Where the objects are; by default in the namespace of the object that refers to them. */
  namespace?: string;
  labelSelector?: LabelSelector;
}

export interface ReconcileBinding {
  name?: string;
  apiVersion: string;
  /** As the custom resource's objects have it. It needs a `status` subresource. */
  kind: string;
  /** The kinds that the hook may return. */
  owns: OwnedKind[];
  /** The objects that the hook reads. A change of one calls the hook for the objects that refer to it. */
  related?: RelatedKind[];
  namespace?: { nameSelector: NameSelector };
  labelSelector?: LabelSelector;
  /**
   * The objects are others': the hook attaches its children to them, and may set labels and annotations on them. It returns the
   * object itself among the children for that, with these labels and annotations only.
   */
  decorates?: boolean;
  /** Objects with these annotations, with `decorates`. */
  annotationSelector?: AnnotationSelector;
  /** How many children of an object may be deleted at once without an approval: of those that exist, and in number. */
  prune?: { maxShare?: `${number}%`; maxObjects?: number };
  /** What happens to an object that the hook returns, and that exists without being a child. */
  adopt?: "never" | "ifUnowned" | "always";
  /** Keep so many revisions of each object's children, with the newest one: from 2 to 100. Not with `decorates`. */
  revisions?: number;
  /** Reconcile each object again after this time, although nothing changed. */
  resync?: Duration;
  includeSnapshotsFrom?: string[];
  retry?: Retry;
}

export interface AdmissionBinding {
  /** A domain name of three parts or more. */
  name: string;
  rules: {
    apiGroups: string[];
    apiVersions: string[];
    operations: ("CREATE" | "UPDATE" | "DELETE" | "CONNECT" | "*")[];
    resources: string[];
    scope?: "Cluster" | "Namespaced" | "*";
  }[];
  failurePolicy?: "Ignore" | "Fail";
  sideEffects?: "None" | "NoneOnDryRun";
  timeoutSeconds?: number;
  matchConditions?: { name: string; expression: string }[];
  matchPolicy?: "Exact" | "Equivalent";
  labelSelector?: LabelSelector;
  namespace?: { labelSelector?: LabelSelector };
  includeSnapshotsFrom?: string[];
  group?: string;
}

export interface MutatingBinding extends AdmissionBinding {
  reinvocationPolicy?: "Never" | "IfNeeded";
}

export interface ConversionBinding {
  name?: string;
  crdName: string;
  conversions: { fromVersion: string; toVersion: string }[];
  includeSnapshotsFrom?: string[];
  group?: string;
}

export interface Permission {
  apiGroups: string[];
  resources: string[];
  verbs: ("get" | "list" | "create" | "update" | "patch" | "delete" | "*")[];
  resourceNames?: string[];
  namespaces?: string[];
}

/** HTTP requests to hosts outside the cluster. */
export interface HttpPermission {
  /**
   * `api.example.com`; `*.example.com` for all below that name; `api.example.com:8443` for another port than 443;
   * `http://api.example.com` for a host without TLS.
   */
  hosts: string[];
  /** `GET` and `HEAD` when absent. */
  methods?: ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS" | "*")[];
  /** Paths without the query; a `*` at the end stands for all that begin so. All paths when absent. */
  paths?: string[];
}

/** Version v1 of the document. */
export interface Config {
  configVersion?: "v1";
  onStartup?: number;
  /** For global hooks: before modules, whenever values that all of them see change. Lower numbers go first. */
  beforeAll?: number;
  /** For global hooks: when each module has been tried. */
  afterAll?: number;
  /** For hooks of a module: before its chart is applied. Lower numbers go first. */
  beforeHelm?: number;
  /** For hooks of a module: after its chart was applied. */
  afterHelm?: number;
  /** For hooks of a module: before the objects of its chart are deleted. */
  beforeDeleteHelm?: number;
  /** For hooks of a module: after the objects of its chart were deleted. */
  afterDeleteHelm?: number;
  schedule?: ScheduleBinding[];
  kubernetes?: KubernetesBinding[];
  reconcile?: ReconcileBinding[];
  kubernetesValidating?: AdmissionBinding[];
  kubernetesMutating?: MutatingBinding[];
  kubernetesCustomResourceConversion?: ConversionBinding[];
  permissions?: { kubernetes?: Permission[]; http?: HttpPermission[] };
  limits?: { memory?: Bytes; time?: Duration; hostCalls?: number; hostBytes?: Bytes; logBytes?: Bytes };
  retry?: Retry;
  concurrency?: number;
  settings?: { executionMinInterval: Duration; executionBurst: number };
  failureEvents?: { regarding: { apiVersion: string; kind: string; namespace?: string; name: string } };
}
