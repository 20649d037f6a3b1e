// Converts CronTabs between their three versions, step by step; nothing that one of them can't hold is lost. It never looks
// at the cluster: a conversion sees the object and nothing else.
package main

import (
	"fmt"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/conversion"
)

func init() {
	boathook.Configure(boathook.Config{Conversion: []boathook.Conversion{{
		Name:    "crontabs",
		CRDName: "crontabs.stable.example.com",
		// The host makes v1alpha1 of v1 by way of v1beta1.
		Conversions: []boathook.Step{
			{FromVersion: "v1alpha1", ToVersion: "v1beta1"},
			{FromVersion: "v1beta1", ToVersion: "v1alpha1"},
			{FromVersion: "v1beta1", ToVersion: "v1"},
			{FromVersion: "v1", ToVersion: "v1beta1"},
		},
	}}})
	conversion.Handle(convert)
}

func main() {}

func convert(request *conversion.Request) error {
	crontab := crontab{request.Object}
	switch request.From + " to " + request.To {
	case "v1alpha1 to v1beta1":
		crontab.rename("cron", specText)
		return crontab.restore("v1beta1")
	case "v1beta1 to v1alpha1":
		crontab.rename(specText, "cron")
		return crontab.keep("v1beta1", "replicas")
	case "v1beta1 to v1":
		if err := crontab.split(); err != nil {
			return err
		}
		return crontab.restore("v1")
	case "v1 to v1beta1":
		crontab.join()
		return crontab.keep("v1", "suspend")
	default:
		return fmt.Errorf("%s to %s is no step of this hook", request.From, request.To)
	}
}
