# What jq has and jaq lacks, as far as filters of objects use it.

def ascii: [.] | implode;
def toarray: if isarray then . else [.] end;
def trimstr($text): ltrimstr($text) | rtrimstr($text);
def leaf_paths: paths(scalars);

# jaq's own makes no missing parents, as its assignments don't.
def setpath($path; $value):
  if $path == [] then $value
  else $path[0] as $key
    | (if . == null and ($key | isstring) then {} else . end)
    | .[$key] = (.[$key] | setpath($path[1:]; $value))
  end;

def IN(stream): . as $wanted | any(stream; . == $wanted);
def IN(left; right): any(left; IN(right));
def INDEX(stream; key): reduce stream as $row ({}; .[$row | key | tostring] = $row);
def INDEX(key): INDEX(.[]; key);

def @csv:
  [.[] | if isstring then "\"" + (split("\"") | join("\"\"")) + "\""
    elif . == null then ""
    elif isnumber or isboolean then tostring
    else error("a list or an object does not fit into a field of @csv") end]
  | join(",");

def @tsv:
  def escape(char; as): split(char) | join(as);
  [.[] | if isstring then escape("\\"; "\\\\") | escape("\t"; "\\t") | escape("\n"; "\\n") | escape("\r"; "\\r")
    elif . == null then ""
    elif isnumber or isboolean then tostring
    else error("a list or an object does not fit into a field of @tsv") end]
  | join("\t");
