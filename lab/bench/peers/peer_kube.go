//go:build kube

package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/distlock-go/distlock"
	"github.com/distlock-go/distlock/backend/casstores/kubelock"
	"github.com/distlock-go/distlock/internal/test/kubetest"
)

func init() {
	peers[elector] = newElector
	elsewhere := peers[ours]
	peers[ours] = func(t task) (lockFunc, error) {
		if !strings.HasPrefix(t.URL, "https://") {
			return elsewhere(t)
		}
		c, err := rest.HTTPClientFor(kubeConfig(t.URL))
		return lockOn(kubelock.New(c, kubelock.Config{Server: t.URL, Namespace: "shop"}), distlock.Config{}), err
	}
	starters[inKubernetes] = func(dir string) (string, func(), error) {
		s, err := kubetest.Launch(dir)
		if err != nil {
			return "", nil, err
		}
		return "https://" + s.Addr(), s.Kill, nil
	}
}

// kubeConfig is that of an administrator, without client-go's limit of five requests a second.
func kubeConfig(server string) *rest.Config {
	return &rest.Config{Host: server, BearerToken: "admin", TLSClientConfig: rest.TLSClientConfig{Insecure: true}, QPS: -1}
}

// newElector lets a LeaderElector of client-go lead for as long as the lock is held, with the
// durations of Kubernetes itself: it tries again after two to four seconds.
func newElector(t task) (lockFunc, error) {
	klog.SetOutput(io.Discard)
	leases, err := coordination.NewForConfig(kubeConfig(t.URL))
	return func(ctx context.Context, key string) (unlockFunc, error) {
		run, end := context.WithCancel(klog.NewContext(ctx, logr.Discard()))
		leads, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			leaderelection.RunOrDie(run, leaderelection.LeaderElectionConfig{
				Lock: &resourcelock.LeaseLock{
					LeaseMeta: metav1.ObjectMeta{Namespace: "shop", Name: strings.ToLower(strings.ReplaceAll(key, ":", "-"))},
					Client:    leases, LockConfig: resourcelock.ResourceLockConfig{Identity: uuid.NewString()},
				},
				LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second, ReleaseOnCancel: true,
				Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() {}},
			})
		}()
		unlock := func(context.Context) error {
			end()
			<-ended
			return nil
		}
		select {
		case <-leads:
			return unlock, nil
		case <-ended:
			return nil, errors.Join(errors.New("not elected"), ctx.Err(), unlock(ctx))
		}
	}, err
}
