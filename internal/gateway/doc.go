// Package gateway puts a gateway together from its configuration: journal,
// hub, door, WebSockets, HTTP. It is the one place besides the commands that
// knows every part; the commands and the tests both start gateways through it,
// so that what is tested is what runs.
package gateway
