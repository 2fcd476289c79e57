package config

// kind is the type of a YAML value.
type kind uint8

const (
	null kind = iota
	boolean
	integer
	float
	text
	list
	mapping
)

// String returns the kind as it appears in messages.
func (k kind) String() string {
	return [...]string{"nothing", "a boolean", "a whole number", "a number", "text", "a list", "a mapping"}[k]
}

// node is one value of the file, with aliases followed and merges applied. A
// value with aliases is one node with several parents.
type node struct {
	place
	kind         kind
	text         string  // a scalar as written in the file, without quotes
	whole        int64   // integer
	number       float64 // integer, float
	truth        bool    // boolean
	items        []*node // list
	members      []member
	invalid      bool // an error in the value was reported
	expandedSize int  // number of nodes in a walk of the subtree, with aliases expanded
}

// member is one entry of a mapping; the key is a scalar.
type member struct {
	key, value *node
}

// get returns the value under a key, or nil.
func (n *node) get(key string) *node {
	for _, m := range n.members {
		if m.key.text == key {
			return m.value
		}
	}
	return nil
}
