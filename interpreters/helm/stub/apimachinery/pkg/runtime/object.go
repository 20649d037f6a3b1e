// Package runtime has what Helm's releases name of the package with this name.
package runtime

// Object is any object.
type Object any
