package boathook

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/boathook/boathook/sdk/go/internal/failure"
	wire "github.com/boathook/boathook/sdk/go/internal/wit/boathook_hook_types"
	"github.com/boathook/boathook/sdk/go/kube"
)

func TestWhatAnErrorMeansForTheRun(t *testing.T) {
	plain := errors.New("no")
	forbidden := &kube.Error{Reason: kube.ForbiddenByGrant, Message: "forbidden"}
	var object struct{}
	shape := kube.JSON("[1]").Into(&object)
	for name, test := range map[string]struct {
		err error
		tag uint8
	}{
		"plain":            {plain, wire.FailureRetry},
		"permanent":        {Permanent(plain), wire.FailurePermanent},
		"wrapped":          {fmt.Errorf("at it: %w", Permanent(plain)), wire.FailurePermanent},
		"later":            {fmt.Errorf("at it: %w", RetryAfter(1500*time.Millisecond, plain)), wire.FailureRetryAfter},
		"forbidden":        {fmt.Errorf("at it: %w", forbidden), wire.FailurePermanent},
		"forbidden, again": {Retry(forbidden), wire.FailureRetry},
		"another shape":    {shape, wire.FailurePermanent},
		"conflict":         {&kube.Error{Reason: kube.Conflict}, wire.FailureRetry},
		"one of two":       {errors.Join(plain, Permanent(plain)), wire.FailureRetry},
		"both":             {errors.Join(forbidden, Permanent(plain)), wire.FailurePermanent},
	} {
		if tag := failure.Of(test.err).Tag(); tag != test.tag {
			t.Errorf("%s: %d", name, tag)
		}
	}
	if after := failure.Of(RetryAfter(1500*time.Millisecond, plain)).RetryAfter(); after.F0 != 1500 || after.F1 != "no" {
		t.Errorf("%v", after)
	}
	if Permanent(nil) != nil || Retry(nil) != nil || RetryAfter(time.Second, nil) != nil {
		t.Error("no error is none")
	}
}

func TestAPanicIsAnErrorOfTheRun(t *testing.T) {
	_, err := failure.Guard(func() (int, error) { panic("on purpose") })
	if err == nil || err.Error() != "the hook panicked: on purpose" {
		t.Error(err)
	}
}

func TestAnOperationTakesOnlyWhatFitsIt(t *testing.T) {
	ref := kube.Ref{APIVersion: "v1", Kind: "Pod", Namespace: "web", Name: "p"}
	for _, operation := range []*kube.Operation{
		kube.NewDelete(ref).Keep(),
		kube.NewPatch(ref, kube.Object{}).Force(),
		kube.NewCreate(kube.Object{}).IgnoreMissing(),
		kube.NewCreate(func() {}),
	} {
		err := operation.Run()
		var wrong *kube.DataError
		if !errors.As(err, &wrong) {
			t.Errorf("%v", err)
		}
	}
}
