-- Marks a new node as one whose data is complete.
--
-- KEYS: 1 the marker of the node.
-- ARGV: 1 is "1" to set the marker if there is none, "0" only to ask.
-- Returns 1 if the node had a marker, or 0, and the run_id of the server, "" if it is not known.
-- Even to ask is a command that writes, and changes nothing: a node that takes no locks, such as
-- a replica, must not answer.

--- @include "includes/run_id.lua"

local run = run_id()
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('SET', KEYS[1], '', 'NX')
  return { 1, run or '' }
end
if ARGV[1] == '1' then
  redis.call('SET', KEYS[1], string.format('%s 0', run or '-'))
end
return { 0, run or '' }
