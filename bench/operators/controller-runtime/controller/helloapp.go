// Package controller turns a HelloApp into a Deployment and a Service.
package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/boathook/boathook/bench/operators/controller-runtime/api/v1alpha1"
)

// Concurrency is that of the other contenders.
const Concurrency = 8

// HelloApps reconciles HelloApps.
//
// +kubebuilder:rbac:groups=example.com,resources=helloapps,verbs=get;list;watch
// +kubebuilder:rbac:groups=example.com,resources=helloapps/status,verbs=get;update
// +kubebuilder:rbac:groups=example.com,resources=helloapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;update
type HelloApps struct {
	client.Client
}

// SetupWithManager watches HelloApps and their children.
func (r *HelloApps) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.HelloApp{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: Concurrency}).
		Complete(r)
}

// Reconcile makes the children of one HelloApp what they should be, and writes its status.
func (r *HelloApps) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var app v1alpha1.HelloApp
	if err := r.Get(ctx, req.NamespacedName, &app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	deployment, err := r.applyDeployment(ctx, &app)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("deployment: %w", err)
	}
	if err := r.applyService(ctx, &app); err != nil {
		return ctrl.Result{}, fmt.Errorf("service: %w", err)
	}
	if err := r.writeStatus(ctx, &app, deployment.Status.ReadyReplicas); err != nil {
		return ctrl.Result{}, fmt.Errorf("status: %w", err)
	}
	return ctrl.Result{}, nil
}

func (r *HelloApps) applyDeployment(ctx context.Context, app *v1alpha1.HelloApp) (*appsv1.Deployment, error) {
	labels := map[string]string{"app.kubernetes.io/name": app.Name}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		metav1.SetMetaDataLabel(&deployment.ObjectMeta, "app.kubernetes.io/name", app.Name)
		deployment.Spec.Replicas = &app.Spec.Size
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		template := &deployment.Spec.Template
		metav1.SetMetaDataLabel(&template.ObjectMeta, "app.kubernetes.io/name", app.Name)
		// The API server fills in other fields, which must stay: an update would be sent each time.
		if len(template.Spec.Containers) != 1 {
			template.Spec.Containers = make([]corev1.Container, 1)
		}
		web := &template.Spec.Containers[0]
		web.Name, web.Image = "web", app.Spec.Image
		if len(web.Ports) != 1 {
			web.Ports = make([]corev1.ContainerPort, 1)
		}
		web.Ports[0].ContainerPort = 8080
		return ctrl.SetControllerReference(app, deployment, r.Scheme())
	})
	return deployment, err
}

func (r *HelloApps) applyService(ctx context.Context, app *v1alpha1.HelloApp) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: app.Name, Namespace: app.Namespace}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, service, func() error {
		metav1.SetMetaDataLabel(&service.ObjectMeta, "app.kubernetes.io/name", app.Name)
		service.Spec.Selector = map[string]string{"app.kubernetes.io/name": app.Name}
		if len(service.Spec.Ports) != 1 {
			service.Spec.Ports = make([]corev1.ServicePort, 1)
		}
		service.Spec.Ports[0].Port, service.Spec.Ports[0].TargetPort = 80, intstr.FromInt32(8080)
		return ctrl.SetControllerReference(app, service, r.Scheme())
	})
	return err
}

func (r *HelloApps) writeStatus(ctx context.Context, app *v1alpha1.HelloApp, ready int32) error {
	before := app.Status.DeepCopy()
	app.Status.ReadyReplicas = ready
	app.Status.ObservedGeneration = app.Generation
	condition := metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionFalse,
		ObservedGeneration: app.Generation,
		Reason:             "Replicas",
		Message:            fmt.Sprintf("%d of %d replicas are ready", ready, app.Spec.Size),
	}
	if ready == app.Spec.Size {
		condition.Status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&app.Status.Conditions, condition)
	if equality.Semantic.DeepEqual(before, &app.Status) {
		return nil
	}
	return r.Status().Update(ctx, app)
}
