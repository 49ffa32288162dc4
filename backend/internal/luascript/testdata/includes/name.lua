-- Includes what command.lua includes, too.

--- @include "text.lua"

local function name(key)
  return text(key) .. ':name'
end
