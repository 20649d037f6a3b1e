// Command helm renders charts with Helm's own library: a component that exports `boathook:chart/engine`.
//
//	render/          what the export does, for any host
//	wire_wasip1.go   the export and the import
//	warm_wasip1.go   what runs once, when the component is built
//	main_other.go    the same as a program, which tests compare with Helm
//	stub/            the few types of Kubernetes' libraries that Helm's engine names
package main

// Version is that of the component.
const Version = "0.1.0"
