package kubelock

import "net/http"

// SetAccount sets where InPod finds the credentials.
func SetAccount(dir string) { account = dir + "/" }

// TransportOf returns the transport of a client of InPod.
func TransportOf(c *http.Client) *http.Transport { return c.Transport.(bearer).Transport }

// NameOf returns the name of the object of a key.
func NameOf(key string) string { return newObject(key, "", nil).Metadata.Name }
