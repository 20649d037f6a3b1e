package shellop

import "strings"

// Values are what a hook of a module sees, as JSON texts.
type Values struct{ Values, Config string }

// Patches are what a hook of a module wrote: operations of JSON patches, one after another or in arrays.
type Patches struct{ Values, Config string }

const (
	valuesPatchPath = folder + "/values-json-patch.json"
	configPatchPath = folder + "/config-values-json-patch.json"
)

// putValues makes the files of values, and names them to the script.
func (p *process) putValues(v *Values) error {
	if v == nil {
		return nil
	}
	for file, text := range map[string]string{valuesPath: v.Values, configPath: v.Config, valuesPatchPath: "", configPatchPath: ""} {
		if err := p.world.FS.Put(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	p.env = append(p.env, "VALUES_JSON_PATCH_PATH="+valuesPatchPath, "CONFIG_VALUES_JSON_PATCH_PATH="+configPatchPath)
	return nil
}

// patches reads what the script wrote to these files.
func (p *process) patches() (*Patches, error) {
	values, err := p.read(valuesPatchPath)
	if err != nil {
		return nil, err
	}
	config, err := p.read(configPatchPath)
	if err != nil {
		return nil, err
	}
	return &Patches{strings.TrimSpace(values), strings.TrimSpace(config)}, nil
}
