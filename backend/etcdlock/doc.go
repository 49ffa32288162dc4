// Package etcdlock is a lock backend on etcd, 3.4 or later, with the official client.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"etcd1:2379", "etcd2:2379"}})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	backend, err := etcdlock.New(client)
//	if err != nil {
//		return err
//	}
//	locker := distlock.New(backend, distlock.Config{})
//	defer locker.Close() // closes the backend, and not the client
package etcdlock
