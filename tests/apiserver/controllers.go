package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/controller-manager/pkg/clientbuilder"
	controllerhealthz "k8s.io/controller-manager/pkg/healthz"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/config"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// startControllers runs the named controllers of kube-controller-manager and returns when all of
// them have been started on filled caches.
//
// It does not call the manager's own Run: that has no way to say when it is up.
func startControllers(ctx context.Context, d *dataDir, names []string) (*part, error) {
	cfg, err := controllerConfig(ctx, d, names)
	if err != nil {
		return nil, fmt.Errorf("controllers: %w", err)
	}
	up := make(chan struct{})
	p := startPart("controllers", func(ctx context.Context) error {
		return runControllers(ctx, cfg, up)
	})
	select {
	case <-up:
		return p, nil
	case err := <-p.done:
		return nil, fmt.Errorf("controllers: %w", err)
	case <-ctx.Done():
		p.stop()
		return nil, errors.New("controllers: not up in time")
	}
}

func controllerConfig(ctx context.Context, d *dataDir, names []string) (*config.CompletedConfig, error) {
	s, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	all, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	sets := s.Flags(all, disabled, aliases)
	s.ParsedFlags = &sets
	fs := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	for _, set := range sets.FlagSets {
		fs.AddFlagSet(set)
	}
	flags := []string{
		"--kubeconfig=" + d.kubeconfig(),
		// What root-ca-certificate-publisher-controller gives to Pods.
		"--root-ca-file=" + d.caFile(),
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=false",
		// The default, 20 requests a second, would make the tests wait for the cleaning up of a
		// thousand namespaces.
		"--kube-api-qps=1000",
		"--kube-api-burst=2000",
	}
	for _, name := range names {
		flags = append(flags, "--controllers="+name)
	}
	if err := fs.Parse(flags); err != nil {
		return nil, err
	}
	if err := s.ComponentGlobalsRegistry.Set(); err != nil {
		return nil, err
	}
	c, err := s.Config(ctx, all, disabled, aliases)
	if err != nil {
		return nil, err
	}
	return c.Complete(), nil
}

// runControllers closes up when all controllers run, and returns when ctx has ended and they are gone.
func runControllers(ctx context.Context, c *config.CompletedConfig, up chan<- struct{}) error {
	defer c.EventBroadcaster.Shutdown()
	builder := clientbuilder.SimpleControllerClientBuilder{ClientConfig: c.Kubeconfig}
	cc, err := app.CreateControllerContext(ctx, c, builder, builder)
	if err != nil {
		return err
	}
	built, err := app.BuildControllers(ctx, cc, app.NewControllerDescriptors(), nil, controllerhealthz.NewMutableHealthzHandler())
	if err != nil {
		return err
	}
	cc.InformerFactory.Start(ctx.Done())
	defer cc.InformerFactory.Shutdown()
	cc.ObjectOrMetadataInformerFactory.Start(ctx.Done())
	close(cc.InformersStarted)

	var running sync.WaitGroup
	running.Add(len(built))
	for i, controller := range built {
		built[i] = announced{controller, running.Done}
	}
	go func() {
		cc.InformerFactory.WaitForCacheSync(ctx.Done())
		running.Wait()
		close(up)
	}()
	if !app.RunControllers(ctx, cc, built, 0, stopTimeout) {
		return errors.New("some did not stop in time")
	}
	return nil
}

// announced is a controller that says when it has been started.
type announced struct {
	app.Controller
	started func()
}

func (a announced) Run(ctx context.Context) {
	a.started()
	a.Controller.Run(ctx)
}
