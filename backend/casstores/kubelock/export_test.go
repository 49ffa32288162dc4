package kubelock

import (
	"encoding/json"
	"net/http"
)

// SetAccount sets where InPod finds the credentials.
func SetAccount(dir string) { account = dir + "/" }

// SweepOne sets how many creations have one sweep.
func SweepOne(n int) { sweepOne = n }

// TransportOf returns the transport of a client of InPod.
func TransportOf(c *http.Client) *http.Transport { return c.Transport.(bearer).Transport }

// NameOf returns the name of the object of a key.
func NameOf(key string) string { return newObject(key, "", nil).Metadata.Name }

// ObjectOf returns the object of a key with this record.
func ObjectOf(key, record string) (o map[string]any) {
	data, _ := json.Marshal(newObject(key, "", map[string]string{keyOf: key, recordOf: record}))
	_ = json.Unmarshal(data, &o)
	return o
}
