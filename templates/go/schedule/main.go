// Says every five seconds how many Pods there are in each phase, and reports it as a metric.
//
// It never asks the API server: the operator knows the Pods.
package main

import (
	"fmt"
	"log/slog"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/metrics"
	"github.com/boathook/boathook/sdk/go/snapshots"
)

// What wakes the hook. It needs no permission, as it calls nothing.
func init() {
	boathook.Configure(boathook.Config{
		// Kept for the runs of the clock; a Pod that changes runs nothing.
		Kubernetes: []boathook.Kubernetes{{
			Name:              "pods",
			APIVersion:        "v1",
			Kind:              "Pod",
			OnEvents:          []boathook.Change{},
			OnSynchronization: boathook.Bool(false),
			JQFilter:          `.status.phase // "Unknown"`,
			Content:           boathook.ContentNone,
		}},
		// Seconds, minutes, hours, days, months, weekdays. Five fields are those without seconds.
		Schedule: []boathook.Schedule{{
			Name:                 "clock",
			Crontab:              "*/5 * * * * *",
			IncludeSnapshotsFrom: []string{"pods"},
		}},
	})
	boathook.Run(run)
}

func run(*boathook.Context) error {
	count, phases := 0, map[string]int{}
	for pod, err := range snapshots.All("pods") {
		if err != nil {
			return err
		}
		var phase string
		if err := pod.FilterResult.Into(&phase); err != nil {
			return err
		}
		phases[phase]++
		count++
	}
	// What this run does not report is no longer served.
	group := metrics.Group("pods")
	if err := group.Expire(); err != nil {
		return err
	}
	for phase, count := range phases {
		if err := group.Set("pods_in_phase", float64(count), metrics.Labels{"phase": phase}); err != nil {
			return err
		}
	}
	slog.Info(fmt.Sprintf("%d Pods: %v", count, phases))
	return nil
}

// Nobody calls it: a component has no main.
func main() {}
