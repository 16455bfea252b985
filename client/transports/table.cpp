// Names to transports: the one list.
#include "client/transports/common.hpp"

namespace quietus {
namespace {

using transports::make_apptainer;
using transports::make_bwrap;
using transports::make_container;
using transports::make_container_of_image;
using transports::make_kube;
using transports::make_local;
using transports::make_slurm;
using transports::make_slurm_new;
using transports::make_ssh;
using transports::make_template;

using Made = Expected<std::unique_ptr<Transport>>;

struct Form {
  std::string_view scheme;
  bool needs_rest;
  Made (*make)(std::string_view scheme, std::string_view rest, const TransportOptions&);
};

constexpr Form kForms[] = {
    {"local", false,
     [](std::string_view, std::string_view, const TransportOptions&) -> Made {
       return make_local();
     }},
    {"docker", true,
     [](std::string_view tool, std::string_view rest, const TransportOptions& options) -> Made {
       return make_container(tool, std::string(rest), options);
     }},
    {"podman", true,
     [](std::string_view tool, std::string_view rest, const TransportOptions& options) -> Made {
       return make_container(tool, std::string(rest), options);
     }},
    {"docker-image", true,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_container_of_image("docker", std::string(rest), options);
     }},
    {"podman-image", true,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_container_of_image("podman", std::string(rest), options);
     }},
    {"ssh", true,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_ssh(rest, options);
     }},
    {"bwrap", true,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_bwrap(std::string(rest), options);
     }},
    {"slurm", true,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_slurm(rest, options);
     }},
    {"slurm-new", false,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_slurm_new(rest, options);
     }},
    {"kube", true,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_kube(rest, options);
     }},
    {"apptainer", true,
     [](std::string_view, std::string_view rest, const TransportOptions& options) -> Made {
       return make_apptainer(rest, options);
     }},
    {"template", true,
     [](std::string_view, std::string_view rest, const TransportOptions&) -> Made {
       return make_template(std::string(rest));
     }},
};

}  // namespace

std::string_view transport_forms() {
  return "local                           this machine\n"
         "docker:NAME, podman:NAME        a container that runs\n"
         "docker-image:IMAGE              a container of our own, made and ended by us\n"
         "podman-image:IMAGE              the same\n"
         "ssh:[USER@]HOST[:PORT]          as your ssh would go there\n"
         "bwrap:ROOT                      a root file system, entered with bubblewrap\n"
         "slurm:JOBID                     an allocation that runs\n"
         "slurm-new[:ARGS]                one of our own, as salloc ARGS would make it\n"
         "kube:NAMESPACE/POD[/CONTAINER]  a pod that runs\n"
         "apptainer:INSTANCE              an instance that runs\n"
         "apptainer:PATH                  an image file or directory\n"
         "template:FILE                   whatever FILE says\n";
}

Expected<std::unique_ptr<Transport>> transport_from_name(std::string_view name,
                                                         const TransportOptions& options) {
  const std::size_t colon = name.find(':');
  const std::string_view scheme = name.substr(0, colon);
  const std::string_view rest =
      colon == std::string_view::npos ? std::string_view() : name.substr(colon + 1);
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorKind::input, "sandbox '" + std::string(name) + "': " + std::string(why),
                "use one of these forms:\n" + std::string(transport_forms()));
  };
  for (const Form& form : kForms) {
    if (form.scheme != scheme) continue;
    if (form.needs_rest && rest.empty()) return wrong("nothing stands after the colon");
    // Tools would take it for an option of theirs.
    if (scheme != "slurm-new" && rest.starts_with('-')) return wrong("a name cannot begin with -");
    if (scheme == "local" && colon != std::string_view::npos) return wrong("local takes no name");
    return form.make(scheme, rest, options);
  }
  return wrong("there is no such kind");
}

}  // namespace quietus
