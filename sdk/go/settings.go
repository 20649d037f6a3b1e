package boathook

import (
	"github.com/boathook/boathook/sdk/go/internal/host"
	"github.com/boathook/boathook/sdk/go/internal/wit/runtime"
	"github.com/boathook/boathook/sdk/go/kube"
)

// Settings reads the settings of the hook's bundle into a pointer to any type: from --bundle-settings, or from
// spec.settings of its HookBundle. Without settings it leaves that as it is, so that it can hold defaults.
func Settings(into any) error {
	runtime.Enter()
	defer runtime.Leave()
	return kube.JSON(host.Settings()).Into(into)
}
