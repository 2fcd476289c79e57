package gateway

import "github.com/cockroachdb/pebble/v2/vfs"

// NATSSecrets lets tests look at what is taken from addresses.
var NATSSecrets = natsSecrets

// SetFS puts the embedded log on another file system.
func (o *Options) SetFS(fs vfs.FS) { o.fs = fs }

// Wait waits until a Drain that has given up waiting is through.
func (g *Gateway) Wait() { g.ending.Wait() }

// ConnLimits lets tests look at how descriptors are divided.
var ConnLimits = connLimits
