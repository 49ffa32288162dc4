-- text returns v as text.
local function text(v)
  return string.format('%s', v)
end
