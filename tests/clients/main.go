// clients drives an API server through client-go the way real controllers do and prints TAP: informers
// (watch-list and classic, typed, dynamic, metadata), leader election, server-side apply with
// conflicts, events, scale, eviction, discovery. KUBECONFIG says where.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

const ns = "default"

var (
	count, failed int
	setGVR        = schema.GroupVersionResource{Group: "grove.io", Version: "v1alpha1", Resource: "podcliquesets"}
	podGVR        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

func result(name string, err error) {
	count++
	if err == nil {
		fmt.Printf("ok %d - %s\n", count, name)
		return
	}
	failed++
	fmt.Printf("not ok %d - %s\n# %s\n", count, name, strings.ReplaceAll(err.Error(), "\n", "\n# "))
}

func eventually(f func() bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) { return f(), nil })
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example:1"}}},
	}
}

func set(name string) *unstructured.Unstructured {
	clique := map[string]any{"name": "w", "spec": map[string]any{"replicas": int64(1), "podSpec": map[string]any{
		"containers": []any{map[string]any{"name": "c", "image": "example:1"}}}}}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": map[string]any{"name": name},
		"spec": map[string]any{"replicas": int64(1), "template": map[string]any{"cliques": []any{clique}}},
	}}
}

// seen counts what an informer tells of objects whose name starts with a prefix.
type seen struct{ added, updated, deleted atomic.Int64 }

func (s *seen) handler(prefix string) cache.ResourceEventHandler {
	ours := func(o any) bool {
		if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		m, ok := o.(metav1.Object)
		return ok && strings.HasPrefix(m.GetName(), prefix)
	}
	return cache.FilteringResourceEventHandler{FilterFunc: ours, Handler: cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { s.added.Add(1) },
		UpdateFunc: func(_, _ any) { s.updated.Add(1) },
		DeleteFunc: func(any) { s.deleted.Add(1) },
	}}
}

func follow(informer cache.SharedIndexInformer, prefix string, create, remove func() error) error {
	stop := make(chan struct{})
	defer close(stop)
	var s seen
	if _, err := informer.AddEventHandler(s.handler(prefix)); err != nil {
		return err
	}
	go informer.Run(stop)
	if err := eventually(informer.HasSynced); err != nil {
		return errors.New("the informer does not sync")
	}
	if err := create(); err != nil {
		return err
	}
	if err := eventually(func() bool { return s.added.Load() == 1 && s.updated.Load() >= 1 }); err != nil {
		return fmt.Errorf("saw %d added, %d updated", s.added.Load(), s.updated.Load())
	}
	if err := remove(); err != nil {
		return err
	}
	if err := eventually(func() bool { return s.deleted.Load() == 1 }); err != nil {
		return fmt.Errorf("saw %d deleted", s.deleted.Load())
	}
	return nil
}

func testInformers(config *rest.Config, client kubernetes.Interface, how string) {
	ctx := context.Background()
	pods := client.CoreV1().Pods(ns)
	makePod := func(name string) func() error {
		return func() error { _, err := pods.Create(ctx, pod(name), metav1.CreateOptions{}); return err }
	}
	dropPod := func(name string) func() error {
		return func() error { return pods.Delete(ctx, name, metav1.DeleteOptions{}) }
	}
	name := "inf-typed-" + how
	typed := informers.NewSharedInformerFactory(client, 0).Core().V1().Pods().Informer()
	result("typed informer, "+how, follow(typed, name, makePod(name), dropPod(name)))

	meta, err := metadata.NewForConfig(config)
	if err == nil {
		name := "inf-meta-" + how
		informer := metadatainformer.NewSharedInformerFactory(meta, 0).ForResource(podGVR).Informer()
		err = follow(informer, name, makePod(name), dropPod(name))
	}
	result("metadata informer, "+how, err)

	dyn, err := dynamic.NewForConfig(config)
	if err == nil {
		name := "inf-dyn-" + how
		sets := dyn.Resource(setGVR).Namespace(ns)
		informer := dynamicinformer.NewDynamicSharedInformerFactory(dyn, 0).ForResource(setGVR).Informer()
		err = follow(informer, name,
			func() error { _, err := sets.Create(ctx, set(name), metav1.CreateOptions{}); return err },
			func() error { return sets.Delete(ctx, name, metav1.DeleteOptions{}) })
	}
	result("dynamic informer of a custom kind, "+how, err)
}

func testElection(client kubernetes.Interface) {
	var leaders, terms atomic.Int64
	var both atomic.Bool
	run := func(ctx context.Context, id string) {
		lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "election", Namespace: ns},
			Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: id}}
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{Lock: lock, ReleaseOnCancel: true,
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(lead context.Context) {
					terms.Add(1)
					if leaders.Add(1) > 1 {
						both.Store(true)
					}
					<-lead.Done()
					leaders.Add(-1)
				},
				OnStoppedLeading: func() {}}})
	}
	first, stopFirst := context.WithCancel(context.Background())
	second, stopSecond := context.WithCancel(context.Background())
	defer stopSecond()
	go run(first, "a")
	err := eventually(func() bool { return terms.Load() == 1 })
	go run(second, "b")
	time.Sleep(500 * time.Millisecond)
	stopFirst()
	if err == nil {
		err = eventually(func() bool { return terms.Load() == 2 })
	}
	if err == nil && both.Load() {
		err = errors.New("two led at once")
	}
	result("leader election hands over, never two leaders", err)
}

func testApply(client kubernetes.Interface) {
	ctx := context.Background()
	maps := client.CoreV1().ConfigMaps(ns)
	config := func(value string) *corev1ac.ConfigMapApplyConfiguration {
		return corev1ac.ConfigMap("applied", ns).WithData(map[string]string{"k": value})
	}
	_, err := maps.Apply(ctx, config("1"), metav1.ApplyOptions{FieldManager: "one"})
	result("server-side apply creates", err)
	_, err = maps.Apply(ctx, config("2"), metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "one": .data.k`) {
		result("another manager conflicts", fmt.Errorf("got %v", err))
	} else {
		result("another manager conflicts", nil)
	}
	got, err := maps.Apply(ctx, config("2"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	if err == nil && got.Data["k"] != "2" {
		err = fmt.Errorf("k is %q", got.Data["k"])
	}
	result("force takes the field over", err)
	_, err = maps.Apply(ctx, corev1ac.ConfigMap("applied", ns), metav1.ApplyOptions{FieldManager: "two"})
	if err == nil {
		if got, err = maps.Get(ctx, "applied", metav1.GetOptions{}); err == nil && len(got.Data) != 0 {
			err = fmt.Errorf("data is %v", got.Data)
		}
	}
	result("a field no longer applied goes", err)
}

func testWrites(client kubernetes.Interface) {
	ctx := context.Background()
	maps := client.CoreV1().ConfigMaps(ns)
	made, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "gen-"},
		BinaryData: map[string][]byte{"b": {0, 1, 254}}}, metav1.CreateOptions{})
	if err == nil && (len(made.Name) != 9 || string(made.BinaryData["b"]) != "\x00\x01\xfe") {
		err = fmt.Errorf("made %s with %v", made.Name, made.BinaryData)
	}
	result("protobuf create with generateName and bytes", err)
	stale := made.DeepCopy()
	made.Data = map[string]string{"a": "1"}
	_, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	result("update", err)
	if _, err = maps.Update(ctx, stale, metav1.UpdateOptions{}); apierrors.IsConflict(err) {
		err = nil
	}
	result("a stale update conflicts", err)
	uid := types.UID("wrong")
	err = maps.Delete(ctx, made.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsConflict(err) {
		err = maps.Delete(ctx, made.Name, metav1.DeleteOptions{})
	}
	result("delete with preconditions (protobuf options)", err)
	if _, err = maps.Get(ctx, made.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		err = nil
	}
	result("it is gone", err)
}

func testPods(config *rest.Config, client kubernetes.Interface) {
	ctx := context.Background()
	pods := client.CoreV1().Pods(ns)
	_, err := pods.Create(ctx, pod("evicted"), metav1.CreateOptions{})
	if err == nil {
		err = eventually(func() bool {
			p, err := pods.Get(ctx, "evicted", metav1.GetOptions{})
			return err == nil && p.Status.Phase == corev1.PodRunning
		})
	}
	result("a pod of protobuf runs", err)
	err = client.PolicyV1().Evictions(ns).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: ns}})
	if err == nil {
		err = eventually(func() bool {
			_, err := pods.Get(ctx, "evicted", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		})
	}
	result("eviction removes it", err)

	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events(ns)})
	node, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err == nil {
		about := &corev1.ObjectReference{Kind: "ConfigMap", Namespace: ns, Name: "about", APIVersion: "v1", UID: "u1"}
		recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "clients"})
		recorder.Eventf(about, corev1.EventTypeNormal, "Seen", "there are %d nodes", len(node.Items))
		err = eventually(func() bool {
			list, err := client.EventsV1().Events(ns).List(ctx, metav1.ListOptions{})
			for i := range list.Items {
				if err == nil && list.Items[i].Regarding.Name == "about" {
					return true
				}
			}
			return false
		})
	}
	result("a recorded event shows in the newer group", err)

	groups, err := restmapper.GetAPIGroupResources(discovery.NewDiscoveryClientForConfigOrDie(config))
	if err == nil {
		mapping, mapErr := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(schema.GroupKind{Group: "grove.io", Kind: "PodCliqueSet"})
		if err = mapErr; err == nil && mapping.Resource != setGVR {
			err = fmt.Errorf("mapped to %v", mapping.Resource)
		}
	}
	result("discovery maps the custom kind", err)
}

func testStatus(config *rest.Config) {
	ctx := context.Background()
	dyn := dynamic.NewForConfigOrDie(config)
	gangs := dyn.Resource(schema.GroupVersionResource{Group: "scheduler.grove.io", Version: "v1alpha1", Resource: "podgangs"}).Namespace(ns)
	gang := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang",
		"metadata": map[string]any{"name": "by-hand", "labels": map[string]any{"a": "b"}},
		"spec":     map[string]any{"podgroups": []any{}}, "status": map[string]any{"phase": "Running"}}}
	made, err := gangs.Create(ctx, gang, metav1.CreateOptions{})
	if err == nil {
		if _, there, _ := unstructured.NestedString(made.Object, "status", "phase"); there {
			err = errors.New("status was stored by create")
		}
	}
	result("create drops status", err)
	err = gangs.Delete(ctx, "by-hand", metav1.DeleteOptions{})
	result("delete a custom object", err)
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Println("Bail out!", err)
		os.Exit(1)
	}
	config.QPS, config.Burst = 1000, 1000
	client := kubernetes.NewForConfigOrDie(config)
	how := "watch-list"
	if os.Getenv("KUBE_FEATURE_WatchListClient") == "false" {
		how = "classic"
	}
	testInformers(config, client, how)
	if how == "watch-list" {
		testElection(client)
		testApply(client)
		testWrites(client)
		testPods(config, client)
		testStatus(config)
	}
	fmt.Printf("1..%d\n", count)
	if failed > 0 {
		os.Exit(1)
	}
}
