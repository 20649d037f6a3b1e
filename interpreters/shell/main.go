// Command shell is the interpreter of shell hooks. As a component, it exports what a hook exports; see component_wasip1.go.
package main

func main() {}
