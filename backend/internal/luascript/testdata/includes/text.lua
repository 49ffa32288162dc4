-- join is not used, and neither is the function that only join uses.
local function joined(v)
  return v .. ','
end

local function join(v)
  for i = 1, #v do
    v[i] = joined(v[i])
  end
  return v
end

-- text returns v as text.
local function text(v)
  return string.format('%s', v)
end
