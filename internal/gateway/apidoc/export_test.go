package apidoc

// Operations is how many routes have a description.
func Operations() int { return len(operations) }

// ParametersOf returns the names of the documented parameters of a route.
func ParametersOf(pattern string) (names []string) {
	o := operations[pattern]
	for _, p := range parametersOf(&o, "") {
		names = append(names, p.(object)["name"].(string))
	}
	return names
}

// Orphans returns parameters that no operation has.
func Orphans() (names []string) {
	used := map[string]bool{}
	for pattern, o := range operations {
		for _, p := range parametersOf(&o, pattern) {
			name := p.(object)["name"].(string)
			if p.(object)["in"] == "path" {
				name = "{" + name + "}"
			}
			if _, own := parameters[o.id+"."+name]; own {
				name = o.id + "." + name
			}
			used[name] = true
		}
	}
	for name := range parameters {
		if !used[name] {
			names = append(names, name)
		}
	}
	return names
}
