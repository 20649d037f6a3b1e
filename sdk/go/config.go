package boathook

import (
	"encoding/json"
	"time"
)

// Config is the configuration document: what wakes the hook, and what it may touch. Its fields are those of the document,
// and what is not set has the document's default.
type Config struct {
	// OnStartup runs the hook when the operator starts, in the order of these numbers.
	OnStartup *int `json:"onStartup,omitempty"`
	// BeforeAll runs a global hook before modules, whenever values that all of them see change; lower numbers go first.
	BeforeAll *int `json:"beforeAll,omitempty"`
	// AfterAll runs a global hook when each module has been tried.
	AfterAll *int `json:"afterAll,omitempty"`
	// BeforeHelm runs a module's hook before the module's chart is applied; lower numbers go first.
	BeforeHelm *int `json:"beforeHelm,omitempty"`
	// AfterHelm runs a module's hook after the module's chart was applied.
	AfterHelm *int `json:"afterHelm,omitempty"`
	// BeforeDeleteHelm runs a module's hook before the objects of the module's chart are deleted.
	BeforeDeleteHelm *int `json:"beforeDeleteHelm,omitempty"`
	// AfterDeleteHelm runs a module's hook after the objects of the module's chart were deleted.
	AfterDeleteHelm *int `json:"afterDeleteHelm,omitempty"`
	// Schedule are bindings to a clock.
	Schedule []Schedule `json:"schedule,omitempty"`
	// Kubernetes are bindings to objects.
	Kubernetes []Kubernetes `json:"kubernetes,omitempty"`
	// Reconcile are bindings to custom resources that become objects; import the package reconciling, too.
	Reconcile []Reconcile `json:"reconcile,omitempty"`
	// Validating are admission webhooks; import the package validating, too.
	Validating []Webhook `json:"kubernetesValidating,omitempty"`
	// Mutating are admission webhooks; import the package mutating, too.
	Mutating []Webhook `json:"kubernetesMutating,omitempty"`
	// Conversion are bindings to versions of custom resources; import the package conversion, too.
	Conversion []Conversion `json:"kubernetesCustomResourceConversion,omitempty"`
	// Permissions are what the hook's own calls may do; nothing without them.
	Permissions Permissions `json:"permissions,omitzero"`
	// Limits are those of a run.
	Limits Limits `json:"limits,omitzero"`
	// Retry is the back-off after a failed run.
	Retry *Backoff `json:"retry,omitempty"`
	// Concurrency is how many runs there may be at the same time, on different objects; 1 when it is 0, and 8 with Reconcile.
	Concurrency int `json:"concurrency,omitempty"`
	// Settings bound how often the hook runs.
	Settings *RunSettings `json:"settings,omitempty"`
	// FailureEvents shows failures as Events about an object.
	FailureEvents *FailureEvents `json:"failureEvents,omitempty"`
}

// MarshalJSON is the document.
func (c Config) MarshalJSON() ([]byte, error) {
	type fields Config
	return json.Marshal(struct {
		Version string `json:"configVersion"`
		fields
	}{"v1", fields(c)})
}

// Order is for Config.OnStartup, and for the stages of modules.
func Order(order int) *int { return &order }

// Bool is for switches that are on by default, and for those that are off.
func Bool(value bool) *bool { return &value }

// Count is for Prune.MaxObjects.
func Count(count int) *int { return &count }

// Duration is a time.Duration that is written as in the document: `10s`.
type Duration time.Duration

// MarshalJSON is `1m30s`.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Kubernetes is a binding to objects of one kind.
type Kubernetes struct {
	// Name is the binding's.
	Name string `json:"name,omitempty"`
	// APIVersion is `v1`, `apps/v1`; found by the kind when it is empty.
	APIVersion string `json:"apiVersion,omitempty"`
	// Kind is `Pod`.
	Kind string `json:"kind"`
	// OnEvents are the changes that run the hook; nil is all, and an empty list none.
	OnEvents []Change `json:"executeHookOnEvent,omitzero"`
	// OnSynchronization runs the hook when all objects are known; true when it is nil.
	OnSynchronization *bool `json:"executeHookOnSynchronization,omitempty"`
	// WaitForSynchronization holds back the hook's other bindings until then; true when it is nil.
	WaitForSynchronization *bool `json:"waitForSynchronization,omitempty"`
	// ResynchronizationPeriod runs the hook for all objects again and again.
	ResynchronizationPeriod Duration `json:"resynchronizationPeriod,omitzero"`
	// KeepFullObjectsInMemory is shell-operator's switch; false is the content ContentNone.
	KeepFullObjectsInMemory *bool `json:"keepFullObjectsInMemory,omitempty"`
	// Content is what of objects is kept and delivered; ContentFull when it is empty.
	Content Content `json:"content,omitempty"`
	// Names are the objects' own.
	Names *Names `json:"nameSelector,omitempty"`
	// Labels select objects.
	Labels *Selector `json:"labelSelector,omitempty"`
	// Fields select objects.
	Fields *FieldSelector `json:"fieldSelector,omitempty"`
	// Namespace selects namespaces; nil is all.
	Namespace *Namespaces `json:"namespace,omitempty"`
	// JQFilter makes of each object what the hook wants to know of it.
	JQFilter string `json:"jqFilter,omitempty"`
	// IncludeSnapshotsFrom names bindings whose snapshots the run can open, too.
	IncludeSnapshotsFrom []string `json:"includeSnapshotsFrom,omitempty"`
	// IgnoreOwnWrites does not run the hook for changes that it made itself.
	IgnoreOwnWrites bool `json:"ignoreOwnWrites,omitempty"`
	// Debounce waits until an object has been quiet so long.
	Debounce Duration `json:"debounce,omitzero"`
	// PreviousObject delivers the object before a change, too.
	PreviousObject bool `json:"previousObject,omitempty"`
	// Queue is `main`, or the name of one that hooks share; the hook's own when it is empty.
	Queue string `json:"queue,omitempty"`
	// Group makes one trigger of the bindings that share it.
	Group string `json:"group,omitempty"`
	// AllowFailure takes a failed run for done.
	AllowFailure bool `json:"allowFailure,omitempty"`
	// Retry is the back-off after a failed run.
	Retry *Backoff `json:"retry,omitempty"`
}

// Content is what of an object is kept and delivered.
type Content string

const (
	// ContentFull is all of it.
	ContentFull Content = "full"
	// ContentMetadata is its metadata.
	ContentMetadata Content = "metadata"
	// ContentNone is only what the jqFilter makes of it.
	ContentNone Content = "none"
)

// Names is a list of names.
type Names struct {
	MatchNames []string `json:"matchNames"`
}

// Selector is a LabelSelector of Kubernetes.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []LabelExpression `json:"matchExpressions,omitempty"`
}

// LabelExpression is one condition on a label.
type LabelExpression struct {
	Key string `json:"key"`
	// Operator is In, NotIn, Exists or DoesNotExist.
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

// AnnotationSelector selects by annotations; all of it must hold.
type AnnotationSelector struct {
	MatchAnnotations map[string]string `json:"matchAnnotations,omitempty"`
	// MatchExpressions are like those on labels; values are any text.
	MatchExpressions []LabelExpression `json:"matchExpressions,omitempty"`
}

// FieldSelector is a list of conditions on fields.
type FieldSelector struct {
	MatchExpressions []FieldExpression `json:"matchExpressions"`
}

// FieldExpression is one condition on a field.
type FieldExpression struct {
	Field string `json:"field"`
	// Operator is Equals or NotEquals.
	Operator string `json:"operator"`
	Value    string `json:"value"`
}

// Namespaces selects namespaces by name, by label, or both.
type Namespaces struct {
	Names  *Names    `json:"nameSelector,omitempty"`
	Labels *Selector `json:"labelSelector,omitempty"`
	// IncludeSystem takes in the system's namespaces; only for webhooks.
	IncludeSystem bool `json:"includeSystem,omitempty"`
}

// Schedule is a binding to a clock.
type Schedule struct {
	// Name is the binding's.
	Name string `json:"name,omitempty"`
	// Crontab has five fields, or six with seconds.
	Crontab string `json:"crontab"`
	// TimeZone is `Europe/Berlin`; UTC when it is empty.
	TimeZone string `json:"timeZone,omitempty"`
	// MissedRuns is `skip` or `once`.
	MissedRuns string `json:"missedRuns,omitempty"`
	// Jitter delays each tick by a random time up to this.
	Jitter Duration `json:"jitter,omitzero"`
	// IncludeSnapshotsFrom names bindings whose snapshots the run can open.
	IncludeSnapshotsFrom []string `json:"includeSnapshotsFrom,omitempty"`
	// Queue is `main`, or the name of one that hooks share; the hook's own when it is empty.
	Queue string `json:"queue,omitempty"`
	// Group makes one trigger of the bindings that share it.
	Group string `json:"group,omitempty"`
	// AllowFailure takes a failed run for done.
	AllowFailure bool `json:"allowFailure,omitempty"`
	// Retry is the back-off after a failed run.
	Retry *Backoff `json:"retry,omitempty"`
}

// Reconcile is a binding to the objects of a custom resource.
type Reconcile struct {
	// Name is the binding's, and the first argument of reconciling.Handle; `reconcile` when it is empty.
	Name string `json:"name,omitempty"`
	// APIVersion is that of the custom resource: `example.com/v1`.
	APIVersion string `json:"apiVersion"`
	// Kind is that of the custom resource. It needs a status subresource.
	Kind string `json:"kind"`
	// Owns are the kinds that the hook may return.
	Owns []Owned `json:"owns"`
	// Related are objects that the hook reads. A change of one calls the hook for the objects that refer to it.
	Related []Related `json:"related,omitempty"`
	// Namespace selects namespaces, only by name; nil is all.
	Namespace *Namespaces `json:"namespace,omitempty"`
	// Labels select objects.
	Labels *Selector `json:"labelSelector,omitempty"`
	// Decorates says that the objects are others': the hook attaches its children to them, and may set labels and annotations on
	// them. It returns the object itself among the children for that, with these labels and annotations only.
	Decorates bool `json:"decorates,omitempty"`
	// Annotations select objects, with Decorates.
	Annotations *AnnotationSelector `json:"annotationSelector,omitempty"`
	// Prune is how many children of an object may be deleted at once without an approval.
	Prune *Prune `json:"prune,omitempty"`
	// Adopt is what happens to an object that exists before the hook returns it: it is refused (`never`, the default), it
	// becomes a child unless a controller owns it (`ifUnowned`), or it becomes a child (`always`).
	Adopt string `json:"adopt,omitempty"`
	// Revisions keeps so many revisions of each object's children, with the newest one: from 2 to 100; none when it is 0.
	// `boathook operators` shows them and goes back to them. Not with Decorates.
	Revisions int `json:"revisions,omitempty"`
	// Resync calls the hook for each object again after this time, although nothing changed; never when it is 0.
	Resync Duration `json:"resync,omitzero"`
	// IncludeSnapshotsFrom names bindings whose snapshots the run can open.
	IncludeSnapshotsFrom []string `json:"includeSnapshotsFrom,omitempty"`
	// Retry is the back-off after a failed run.
	Retry *Backoff `json:"retry,omitempty"`
}

// Owned is a kind that a hook with a Reconcile binding may return.
type Owned struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// Related are objects that the objects of a custom resource refer to: by name, by labels, or both.
type Related struct {
	// Name is what the hook calls them.
	Name       string `json:"name"`
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// NameFrom is the field with the name: `.spec.secretName`, `.spec.volumes[].secret`.
	NameFrom string `json:"nameFrom,omitempty"`
	// Namespace is where the objects are; by default in the namespace of the object that refers to them.
	Namespace string `json:"namespace,omitempty"`
	// Labels select objects.
	Labels *Selector `json:"labelSelector,omitempty"`
}

// Prune bounds deletions. Above one of the bounds, they wait for an approval.
type Prune struct {
	// MaxShare is of the children that exist; `50%` when it is empty.
	MaxShare string `json:"maxShare,omitempty"`
	// MaxObjects is a number of children; 20 when it is nil.
	MaxObjects *int `json:"maxObjects,omitempty"`
}

// Webhook is a binding to requests that the API server asks about.
type Webhook struct {
	// Name is the binding's, a domain name.
	Name string `json:"name"`
	// Rules are the requests.
	Rules []Rule `json:"rules"`
	// FailurePolicy is `Fail` or `Ignore`.
	FailurePolicy string `json:"failurePolicy,omitempty"`
	// SideEffects is `None` or `NoneOnDryRun`.
	SideEffects string `json:"sideEffects,omitempty"`
	// TimeoutSeconds is 1 to 30.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// MatchConditions are in CEL.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty"`
	// MatchPolicy is `Exact` or `Equivalent`.
	MatchPolicy string `json:"matchPolicy,omitempty"`
	// Labels select objects.
	Labels *Selector `json:"labelSelector,omitempty"`
	// Namespace selects namespaces.
	Namespace *Namespaces `json:"namespace,omitempty"`
	// AuditAnnotations are for the API server's audit log.
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
	// Group has the snapshots of the bindings that share it.
	Group string `json:"group,omitempty"`
	// IncludeSnapshotsFrom names bindings whose snapshots can be opened.
	IncludeSnapshotsFrom []string `json:"includeSnapshotsFrom,omitempty"`
	// ReinvocationPolicy is `Never` or `IfNeeded`; only for mutating ones.
	ReinvocationPolicy string `json:"reinvocationPolicy,omitempty"`
}

// Rule says which requests a webhook is asked about.
type Rule struct {
	// APIGroups are `` (the core group) and others; it may not be empty.
	APIGroups []string `json:"apiGroups"`
	// APIVersions are `v1` and the like.
	APIVersions []string `json:"apiVersions"`
	// Operations are CREATE, UPDATE, DELETE, CONNECT.
	Operations []string `json:"operations"`
	// Resources are `pods`, `pods/status`.
	Resources []string `json:"resources"`
	// Scope is `Namespaced`, `Cluster` or `*`.
	Scope string `json:"scope,omitempty"`
}

// MatchCondition is a condition in CEL.
type MatchCondition struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Conversion is a binding to versions of a custom resource.
type Conversion struct {
	// Name is the binding's.
	Name string `json:"name,omitempty"`
	// CRDName is `crontabs.stable.example.com`.
	CRDName string `json:"crdName"`
	// Conversions are the steps that the hook can do.
	Conversions []Step `json:"conversions"`
	// Group has the snapshots of the bindings that share it.
	Group string `json:"group,omitempty"`
	// IncludeSnapshotsFrom names bindings whose snapshots can be opened.
	IncludeSnapshotsFrom []string `json:"includeSnapshotsFrom,omitempty"`
}

// Step is from one version to another.
type Step struct {
	FromVersion string `json:"fromVersion"`
	ToVersion   string `json:"toVersion"`
}

// Permissions are what the hook's own calls may do.
type Permissions struct {
	Kubernetes []Permission `json:"kubernetes,omitempty"`
	// HTTP are requests to hosts outside the cluster.
	HTTP []HTTPPermission `json:"http,omitempty"`
	// Directories are directories of the operator's machine.
	Directories []DirectoryPermission `json:"directories,omitempty"`
}

// Permit is for Config.Permissions.
func Permit(permissions ...Permission) Permissions { return Permissions{Kubernetes: permissions} }

// WithHTTP also allows these HTTP requests.
func (p Permissions) WithHTTP(permissions ...HTTPPermission) Permissions {
	p.HTTP = append(p.HTTP, permissions...)
	return p
}

// WithDirectories also asks for these directories.
func (p Permissions) WithDirectories(permissions ...DirectoryPermission) Permissions {
	p.Directories = append(p.Directories, permissions...)
	return p
}

// DirectoryPermission is for a directory of the operator's machine. The hook opens its files with package os, below /NAME.
type DirectoryPermission struct {
	// Name is the name that the operator's admin gives the directory.
	Name string `json:"name"`
	// Access is `read` or `write`; "" is read. Who may write may read, too.
	Access string `json:"access,omitempty"`
}

// HTTPPermission is for HTTP requests: these methods at these hosts.
type HTTPPermission struct {
	// Hosts are `api.example.com`, `*.example.com` for all below a name, with a port if it is not 443, and with
	// `http://` before a host without TLS.
	Hosts []string `json:"hosts"`
	// Methods are `GET`, `POST` and the like; nil is GET and HEAD, and `*` is all.
	Methods []string `json:"methods,omitempty"`
	// Paths are without the query, and a `*` at the end stands for all that begin so; nil is all.
	Paths []string `json:"paths,omitempty"`
}

// Permission is in the words of an RBAC rule.
type Permission struct {
	// APIGroups are `apps` and the like; nil is the core group.
	APIGroups []string `json:"apiGroups"`
	// Resources are `pods`, `pods/status`.
	Resources []string `json:"resources"`
	// Verbs are `get`, `list`, `create`, `update`, `patch`, `delete`.
	Verbs []string `json:"verbs"`
	// Names are the objects'; nil is all.
	Names []string `json:"resourceNames,omitempty"`
	// Namespaces are those in which it counts; nil is all.
	Namespaces []string `json:"namespaces,omitempty"`
}

// MarshalJSON writes the core group out.
func (p Permission) MarshalJSON() ([]byte, error) {
	type fields Permission
	if p.APIGroups == nil {
		p.APIGroups = []string{""}
	}
	return json.Marshal(fields(p))
}

// Limits are those of a run; what is not set has the host's default.
type Limits struct {
	// Memory is `64Mi`.
	Memory string `json:"memory,omitempty"`
	// Time is that of one run.
	Time Duration `json:"time,omitzero"`
	// HostCalls is how many calls of the host a run may make.
	HostCalls int `json:"hostCalls,omitempty"`
	// HostBytes is how much these calls may pass: `64Mi`.
	HostBytes string `json:"hostBytes,omitempty"`
	// LogBytes is how much a run may log: `1Mi`.
	LogBytes string `json:"logBytes,omitempty"`
}

// Backoff is what happens after failed runs.
type Backoff struct {
	// Initial is the first delay.
	Initial Duration `json:"initial,omitzero"`
	// Max is the longest delay.
	Max Duration `json:"max,omitzero"`
	// Multiplier makes one delay of the one before.
	Multiplier float64 `json:"multiplier,omitempty"`
	// Jitter is the share of a delay that is random: 0 to 1.
	Jitter *float64 `json:"jitter,omitempty"`
	// Attempts is how often a run is tried; without end when it is 0.
	Attempts int `json:"attempts,omitempty"`
}

// RunSettings bound how often the hook runs.
type RunSettings struct {
	// ExecutionMinInterval is the least time between two runs.
	ExecutionMinInterval Duration `json:"executionMinInterval,omitzero"`
	// ExecutionBurst is how many may come at once.
	ExecutionBurst int `json:"executionBurst,omitempty"`
}

// FailureEvents shows failures as Events.
type FailureEvents struct {
	// Regarding is the object that they are about.
	Regarding Regarding `json:"regarding"`
}

// Regarding names an object.
type Regarding struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
}
