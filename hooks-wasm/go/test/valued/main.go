// Tells what it sees of the values of its module, and changes them: as hooks-wasm/test/valued in Rust.
//
// It never writes to the cluster.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	boathook "github.com/boathook/boathook/sdk/go"
	"github.com/boathook/boathook/sdk/go/values"
)

func init() {
	boathook.Configure(boathook.Config{OnStartup: boathook.Order(1)})
	boathook.Run(run)
}

func main() {}

func run(*boathook.Context) error {
	var seen struct {
		Global struct {
			Region string `json:"region"`
		} `json:"global"`
		Web struct {
			Port int `json:"port"`
		} `json:"web"`
	}
	var config struct {
		Web json.RawMessage `json:"web"`
	}
	if err := errors.Join(values.Get(&seen), values.Config(&config)); err != nil {
		return err
	}
	slog.Info(fmt.Sprintf("port=%d region=%q config=%s", seen.Web.Port, seen.Global.Region, config.Web))
	return errors.Join(
		values.Set("/web/replicas", 3),
		values.Set("/web/gone", 1),
		values.Remove("/web/gone"),
		values.SetConfig("/web/seen", "yes"),
		values.SetConfig("/web/gone", "yes"),
		values.RemoveConfig("/web/gone"),
	)
}
