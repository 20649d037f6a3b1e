// Command boathook-apiserver is a Kubernetes control plane in one process, for tests: etcd,
// kube-apiserver and, on demand, some of kube-controller-manager's controllers.
//
// This file joins the parts and orders their start and stop. What each part is made of is in
// the file of its name.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

const (
	// startTimeout bounds everything before "ready"; a start takes 2 to 5 s, more on a busy machine.
	startTimeout = 2 * time.Minute
	// stopTimeout bounds the stop of one part; what is left then dies with the process. kube-apiserver
	// itself would wait a minute for clients to close their idle connections.
	stopTimeout = 2 * time.Second
)

func main() {
	runNodeCommand()
	opts, err := parseFlags(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(opts)
	}
	klog.Flush()
	if err != nil {
		fmt.Fprintln(os.Stderr, "boathook-apiserver:", err)
		os.Exit(1)
	}
}

// run starts the parts in the order they need each other, says "ready", and stops them in the
// opposite order on a signal, with the parent, or when one of them ends by itself.
func run(opts commandLine) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	var commands <-chan string
	if opts.exitWithParent {
		commands = watchParent(ctx, cancel)
	}

	// The listener comes first: the port is ours from here on, and nobody can take it between
	// the choice and the use.
	listener, err := net.Listen("tcp", opts.listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", opts.listen, err)
	}
	defer listener.Close()
	address := listener.Addr().String()

	data, err := openData(opts.data)
	if err != nil {
		return err
	}
	defer data.close()

	etcd, err := startEtcd(data)
	if err != nil {
		return err
	}
	defer etcd.close()

	server, err := startAPIServer(data, listener, etcd.endpoint, opts)
	if err != nil {
		return err
	}
	defer server.stop()

	startCtx, startDone := context.WithTimeout(ctx, startTimeout)
	defer startDone()
	if err := waitReady(startCtx, server, data, address); err != nil {
		return stoppedEarly(ctx, err)
	}
	if err := writeKubeconfigs(data, address, opts); err != nil {
		return err
	}

	var controllers *part
	if len(opts.controllers) > 0 {
		controllers, err = startControllers(startCtx, data, opts.controllers)
		if err != nil {
			return stoppedEarly(ctx, err)
		}
		defer controllers.stop()
	}

	fmt.Println("ready")
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-server.done:
			return fmt.Errorf("kube-apiserver ended by itself: %w", err)
		case err := <-controllers.ended():
			return fmt.Errorf("the controllers ended by themselves: %w", err)
		case command := <-commands:
			if err := obey(ctx, etcd, command); err != nil {
				return stoppedEarly(ctx, err)
			}
		}
	}
}

// stoppedEarly tells a stop that was asked for during the start, which is no error, from a failure.
func stoppedEarly(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
