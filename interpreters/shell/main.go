// Command shell is the interpreter of shell hooks: a component that exports what a hook exports.
//
//	interpreter.go   what the exports do with the files of a hook
//	contexts.go      triggers of Boathook as contexts of shell-operator
//	outcome.go       what a script wrote, as calls of the host
//	cluster.go       what kubectl needs, as calls of the host
//	wire_wasip1.go   the exports, and the imports that the SDK does not have
//	warm_wasip1.go   what runs once, when the interpreter is built
//	room_wasip1.go   where the objects of a run lie
package main

// Version is that of the interpreter.
const Version = "0.1.0"

func main() {}
