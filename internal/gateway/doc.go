// Package gateway assembles a gateway from its configuration: journal, hub,
// admission, WebSockets, HTTP. Apart from the commands, it is the only package
// that imports every part. Commands and tests both start gateways through it,
// so that the tests run the same code.
package gateway
