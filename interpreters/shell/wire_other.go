//go:build !wasip1

package main

import (
	"crypto/rand"

	"github.com/boathook/boathook/interpreters/shell/kubectl"
	"github.com/boathook/boathook/interpreters/shell/shellop"
)

// none is the script of a program that has no host.
type none struct{}

func (none) entry() string              { return "" }
func (none) files() []string            { return nil }
func (none) read(string) ([]byte, bool) { return nil, false }
func (none) compiled() []byte           { return nil }

var host source = none{}

// random asks the system.
func random(bytes []byte) { rand.Read(bytes) }

// resolve fails: there is no host.
func resolve(string, string) (kubectl.Resource, error) { return kubectl.Resource{}, kubectl.ErrNone }

// listKinds, allowed and setOptions have no host, either.
func listKinds() ([]kubectl.Kind, []string, error) { return nil, nil, kubectl.ErrNone }

func allowed(kubectl.Question) (bool, error) { return false, kubectl.ErrNone }

// moduleValues, patchModule and patchConfig have no module.
func moduleValues() *shellop.Values { return nil }

func patchModule(string) error { return kubectl.ErrNone }

func patchConfig(string) error { return kubectl.ErrNone }

func setOptions(kubectl.Options, *int64) {}
